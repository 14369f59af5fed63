using System;
using System.IO;
using System.Net.WebSockets;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// One connection to one exchange, from its settings to the exit status (spec/feed.md). After the end is recorded
/// nothing else is: whoever ends keeps the lock.
/// </summary>
public sealed class Feed
{
    private const int ExitFileEveryMs = 250;
    private const int ClosingAtMostMs = 1000; // a peer that does not answer is left after that

    private static readonly ArraySegment<byte> Nothing = new ArraySegment<byte>(new byte[0]);

    private readonly FeedSettings settings;
    private readonly ISink sink;
    private readonly object recording = new object();
    private readonly Timer exitFileTimer;
    private Func<Task> close; // null: not connected
    private bool ending;

    /// <summary>Opens the sink; ends the process when its file can't be had.</summary>
    public Feed(FeedSettings settings)
    {
        this.settings = settings;
        sink = Open();
        AppDomain.CurrentDomain.ProcessExit += (sender, end) => EndAsAsked(); // SIGTERM
        if (settings.ExitFile != null)
            exitFileTimer = new Timer(LookForExitFile, null, ExitFileEveryMs, ExitFileEveryMs);
    }

    /// <summary>The handshake is done; <paramref name="closing"/> starts the closing one.</summary>
    public void Connected(Func<Task> closing)
    {
        lock (recording)
        {
            close = closing;
            Write(Moment.After(0), Kind.Connected, Nothing);
        }
    }

    /// <summary>When a message was handed over; the first thing to ask for.</summary>
    public Moment Now()
    {
        return Moment.After(settings.DelayNs);
    }

    public void Message(Moment at, Kind kind, ArraySegment<byte> payload)
    {
        lock (recording)
            Write(at, kind, payload);
        if (settings.Parse && kind == Kind.Text)
            Parse(payload);
        if (settings.LogMessages)
            Console.WriteLine(Encoding.UTF8.GetString(payload.Array, payload.Offset, payload.Count));
    }

    /// <summary>The exchange has closed with this code.</summary>
    public void Closed(int code, string reason)
    {
        Finish($"closed: {code} {reason}".TrimEnd());
    }

    public void Lost(WebSocketException error)
    {
        Finish("lost: " + FirstLine(error));
    }

    public void CannotConnect(WebSocketException error)
    {
        lock (recording)
            End(ending ? 0 : 1, ending ? "" : $"cannot connect to {settings.Uri}: {FirstLine(error)}");
    }

    private ISink Open()
    {
        try
        {
            switch (settings.Sink)
            {
                case "stamps":
                    return new StampsSink(settings.Output);
                case "sqlite":
                    return new SqliteSink(settings);
                case "sqlite_behind":
                    return new SqliteBehindSink(new SqliteSink(settings));
                default:
                    return new NoSink();
            }
        }
        catch (Exception error) when (error is IOException || error is UnauthorizedAccessException)
        {
            throw CannotWrite(error);
        }
    }

    private void LookForExitFile(object nothing)
    {
        if (!File.Exists(settings.ExitFile))
            return;
        exitFileTimer.Dispose();
        EndAsAsked();
    }

    private void EndAsAsked()
    {
        lock (recording)
        {
            ending = true;
            if (close == null)
                End(0, "");
        }
        close(); // its failure is the end, which Receive is told as well
        Thread.Sleep(ClosingAtMostMs);
        Finish("");
    }

    private void Finish(string reason)
    {
        lock (recording)
        {
            string told = ending ? "" : reason;
            Write(Moment.After(0), Kind.End, new ArraySegment<byte>(Encoding.UTF8.GetBytes(told)));
            End(told.Length == 0 ? 0 : 1, told);
        }
    }

    private void Write(Moment at, Kind kind, ArraySegment<byte> payload)
    {
        try
        {
            sink.Write(at, kind, payload);
        }
        catch (IOException error)
        {
            throw CannotWrite(error);
        }
    }

    private Exception CannotWrite(Exception error)
    {
        End(1, $"cannot write {settings.Output}: {error.Message}");
        return error;
    }

    /// <summary>What decoding costs is what the knob is for; a text that is no JSON was recorded like any other.</summary>
    private static void Parse(ArraySegment<byte> payload)
    {
        try
        {
            JsonDocument.Parse(payload.AsMemory()).Dispose();
        }
        catch (JsonException)
        {
            // recorded already
        }
    }

    private static string FirstLine(Exception error)
    {
        while (error.InnerException != null)
            error = error.InnerException;
        return error.Message.Split('\n')[0];
    }

    /// <summary>At once, whatever the other threads do: Environment.Exit would wait for the handlers of the end.</summary>
    private static void End(int status, string line)
    {
        if (line.Length > 0)
            Console.Error.WriteLine(line);
        Console.Out.Flush();
        _exit(status);
    }

    [DllImport("libc")]
    private static extern void _exit(int status);
}
