using System;
using System.Net.WebSockets;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Whole messages, since ReceiveAsync hands over whatever part has come.</summary>
internal sealed class MessageReader
{
    private const int FirstBytes = 16 * 1024;
    private const int MostBytes = 64 * 1024 * 1024;

    private readonly WebSocket socket;
    private byte[] buffer = new byte[FirstBytes];

    public MessageReader(WebSocket socket)
    {
        this.socket = socket;
    }

    public ArraySegment<byte> Current { get; private set; }

    public WebSocketMessageType Type { get; private set; }

    /// <summary>False when the peer has closed, which is then answered, or its message grew beyond the limit.</summary>
    public async Task<bool> Next()
    {
        int length = 0;
        while (true)
        {
            var free = new ArraySegment<byte>(buffer, length, buffer.Length - length);
            WebSocketReceiveResult part = await socket.ReceiveAsync(free, CancellationToken.None);
            if (part.MessageType == WebSocketMessageType.Close)
            {
                await AnswerClose(part.CloseStatus);
                return false;
            }
            length += part.Count;
            if (part.EndOfMessage)
            {
                Current = new ArraySegment<byte>(buffer, 0, length);
                Type = part.MessageType;
                return true;
            }
            if (length < buffer.Length)
                continue;
            if (length >= MostBytes)
            {
                await socket.CloseOutputAsync(WebSocketCloseStatus.MessageTooBig, null, CancellationToken.None);
                return false;
            }
            Array.Resize(ref buffer, 2 * length);
        }
    }

    private Task AnswerClose(WebSocketCloseStatus? status)
    {
        // A Close without a code must be answered, but not with the number that stands for "none".
        WebSocketCloseStatus answer = status == WebSocketCloseStatus.Empty ? WebSocketCloseStatus.NormalClosure : status.Value;
        return socket.CloseOutputAsync(answer, null, CancellationToken.None);
    }
}
