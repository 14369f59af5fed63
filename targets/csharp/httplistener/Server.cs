// Echo and stamp servers with HttpListener and System.Net.WebSockets.
using System;
using System.Net;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Feedbench;

public static class Server
{
    public static int Main(string[] words)
    {
        Arguments arguments = Arguments.Read(words);
        Knobs.Check();
        if (arguments.Host.Contains(":"))
            Fail.With(127, $"cannot listen on {arguments.Authority}: this runtime's HttpListener takes no IPv6 address");
        if (!NoDelay.CanBeSet)
            Fail.With(127, "this runtime's HttpListener has no socket where TCP_NODELAY could be set");

        HttpListener listener = Listening.On(arguments);
        // SIGTERM alone would end with the runtime's own status, 143.
        AppDomain.CurrentDomain.ProcessExit += (sender, end) => Environment.ExitCode = 0;
        Accept(listener).GetAwaiter().GetResult();
        return 0;
    }

    private static async Task Accept(HttpListener listener)
    {
        while (true)
        {
            HttpListenerContext context = await listener.GetContextAsync();
            _ = Serve(context);
        }
    }

    private static async Task Serve(HttpListenerContext context)
    {
        try
        {
            Func<WebSocket, Task> service = ServiceOf(context.Request.Url.AbsolutePath);
            if (service == null || !context.Request.IsWebSocketRequest)
            {
                Refuse(context, service == null ? HttpStatusCode.NotFound : HttpStatusCode.BadRequest);
                return;
            }
            NoDelay.On(context);
            using (WebSocket socket = await Upgraded(context))
            {
                if (socket == null)
                    return;
                await service(socket);
            }
            context.Response.Abort(); // disposing of the WebSocket leaves its connection open
        }
        catch (WebSocketException)
        {
            // A broken frame, which the library has answered, or a lost peer.
            context.Response.Abort();
        }
        catch (Exception error) when (error is HttpListenerException || error is ObjectDisposedException)
        {
            // The peer left before its request was answered.
        }
    }

    /// <summary>Null when the handshake is refused.</summary>
    private static async Task<WebSocket> Upgraded(HttpListenerContext context)
    {
        try
        {
            return (await context.AcceptWebSocketAsync(null)).WebSocket;
        }
        catch (WebSocketException)
        {
            Refuse(context, HttpStatusCode.BadRequest);
            return null;
        }
    }

    private static Func<WebSocket, Task> ServiceOf(string path)
    {
        switch (path)
        {
            case "/echo":
                return Echo;
            case "/stamp":
                return StampAnswers;
            default:
                return null;
        }
    }

    private static async Task Echo(WebSocket socket)
    {
        var messages = new MessageReader(socket);
        while (await messages.Next())
        {
            Knobs.BeforeAnswer(messages.Current);
            await socket.SendAsync(messages.Current, messages.Type, true, CancellationToken.None);
        }
    }

    private static async Task StampAnswers(WebSocket socket)
    {
        await Send(socket, Stamp.Of(0));
        var messages = new MessageReader(socket);
        while (await messages.Next())
        {
            Knobs.BeforeAnswer(messages.Current);
            string answer = Stamp.Answer(messages.Current);
            if (answer == null)
            {
                await socket.CloseAsync(WebSocketCloseStatus.InvalidMessageType, null, CancellationToken.None);
                return;
            }
            await Send(socket, answer);
        }
    }

    private static Task Send(WebSocket socket, string text)
    {
        var bytes = new ArraySegment<byte>(Encoding.UTF8.GetBytes(text));
        return socket.SendAsync(bytes, WebSocketMessageType.Text, true, CancellationToken.None);
    }

    private static void Refuse(HttpListenerContext context, HttpStatusCode status)
    {
        context.Response.StatusCode = (int)status;
        context.Response.Close();
    }
}
