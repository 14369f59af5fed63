// Echo and stamp servers with Fleck.
using System;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Threading;
using Feedbench;
using Fleck;

const int UnsupportedData = 1003;

Arguments arguments = Arguments.Read(args);
Knobs.Check();
FleckLog.LogAction = (level, message, error) => { }; // it would tell of each connection
bool tls = Environment.GetEnvironmentVariable("FEEDBENCH_TLS") == "on";

var server = new WebSocketServer($"{(tls ? "wss" : "ws")}://{arguments.Authority}");
server.ListenerSocket.NoDelay = true; // connections inherit it
if (tls)
    server.Certificate = Certificate();

try
{
    server.Start(Serve);
}
catch (SocketException error)
{
    Fail.CannotListen(arguments, error);
}

using var ended = new ManualResetEventSlim();
Action<PosixSignalContext> end = signal =>
{
    signal.Cancel = true; // the runtime's own end would have status 143
    ended.Set();
};
using var terminated = PosixSignalRegistration.Create(PosixSignal.SIGTERM, end);
using var interrupted = PosixSignalRegistration.Create(PosixSignal.SIGINT, end);
ended.Wait();
Environment.Exit(0);

static void Serve(IWebSocketConnection socket)
{
    switch (socket.ConnectionInfo.Path)
    {
        case "/echo":
            Echo(socket);
            break;
        case "/stamp":
            StampAnswers(socket);
            break;
        default:
            socket.OnOpen = socket.Close; // Fleck has no way to refuse the handshake
            break;
    }
}

static void Echo(IWebSocketConnection socket)
{
    socket.OnMessage = text =>
    {
        Knobs.BeforeAnswer(Encoding.UTF8.GetBytes(text));
        socket.Send(text);
    };
    socket.OnBinary = bytes =>
    {
        Knobs.BeforeAnswer(bytes);
        socket.Send(bytes);
    };
}

static void StampAnswers(IWebSocketConnection socket)
{
    void Answer(byte[] message)
    {
        Knobs.BeforeAnswer(message);
        string answer = Stamp.Answer(message);
        if (answer == null)
            socket.Close(UnsupportedData);
        else
            socket.Send(answer);
    }

    socket.OnMessage = text => Answer(Encoding.UTF8.GetBytes(text));
    socket.OnBinary = Answer;
    socket.OnOpen = () => socket.Send(Stamp.Of(0));
}

static X509Certificate2 Certificate()
{
    using X509Certificate2 fromFiles = X509Certificate2.CreateFromPemFile(
        Environment.GetEnvironmentVariable("FEEDBENCH_TLS_CERTIFICATE") ?? "",
        Environment.GetEnvironmentVariable("FEEDBENCH_TLS_KEY") ?? ""
    );
    return new X509Certificate2(fromFiles.Export(X509ContentType.Pkcs12));
}
