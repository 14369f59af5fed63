// Feed client with System.Net.WebSockets.ClientWebSocket.
using System;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

public sealed class Client
{
    private const int FirstBytes = 16 * 1024;

    private readonly FeedSettings settings;
    private readonly Feed feed;
    private readonly ClientWebSocket socket = new ClientWebSocket();
    private byte[] buffer = new byte[FirstBytes];

    private Client(FeedSettings settings)
    {
        this.settings = settings;
        feed = new Feed(settings);
        if (settings.AuthorityFile != null)
            socket.Options.RemoteCertificateValidationCallback = new Authority(settings.AuthorityFile).VouchesFor;
    }

    public static void Main(string[] words)
    {
        new Client(FeedSettings.Read("csharp/client-websocket", words)).Follow().GetAwaiter().GetResult();
    }

    private async Task Follow()
    {
        try
        {
            await socket.ConnectAsync(settings.Uri, CancellationToken.None);
        }
        catch (WebSocketException error)
        {
            feed.CannotConnect(error);
        }
        feed.Connected(() => socket.CloseOutputAsync(WebSocketCloseStatus.NormalClosure, "", CancellationToken.None));
        try
        {
            foreach (string message in settings.Subscriptions)
                await Send(message);
            await Receive();
            await AnswerClose();
        }
        catch (WebSocketException error)
        {
            feed.Lost(error);
        }
        feed.Closed((int)socket.CloseStatus, socket.CloseStatusDescription);
    }

    private Task Send(string text)
    {
        var bytes = new ArraySegment<byte>(Encoding.UTF8.GetBytes(text));
        return socket.SendAsync(bytes, WebSocketMessageType.Text, true, CancellationToken.None);
    }

    /// <summary>Until the exchange closes. A message comes in as many parts as ReceiveAsync likes.</summary>
    private async Task Receive()
    {
        int length = 0;
        while (true)
        {
            var free = new ArraySegment<byte>(buffer, length, buffer.Length - length);
            Moment before = settings.StampBefore ? feed.Now() : default(Moment);
            WebSocketReceiveResult part = await socket.ReceiveAsync(free, CancellationToken.None);
            Moment at = settings.StampBefore ? before : feed.Now();
            if (part.MessageType == WebSocketMessageType.Close)
                return;
            length += part.Count;
            if (part.EndOfMessage)
            {
                var message = new ArraySegment<byte>(buffer, 0, length);
                feed.Message(at, part.MessageType == WebSocketMessageType.Text ? Kind.Text : Kind.Binary, message);
                length = 0;
            }
            else if (length == buffer.Length)
            {
                Array.Resize(ref buffer, 2 * length);
            }
        }
    }

    /// <summary>Unless it was ourselves who began.</summary>
    private async Task AnswerClose()
    {
        if (socket.State != WebSocketState.CloseReceived)
            return;
        // A Close without a code must be answered, but not with the number that stands for "none".
        WebSocketCloseStatus status = socket.CloseStatus == WebSocketCloseStatus.Empty
            ? WebSocketCloseStatus.NormalClosure
            : socket.CloseStatus.Value;
        await socket.CloseOutputAsync(status, null, CancellationToken.None);
    }
}
