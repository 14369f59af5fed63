using System;
using System.Collections.Concurrent;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

/// <summary>Each message is a row before the next is received. ADO.NET's provider is on NuGet alone: so SQLite's C API.</summary>
internal sealed class SqliteSink : ISink
{
    private const int Ok = 0;
    private const string Schema = @"
PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS test_details (test_id INTEGER PRIMARY KEY, vps_id TEXT, connector_id TEXT, exchange_id TEXT,
                                         stream_id TEXT, stream_args TEXT, datetime_start INTEGER);
CREATE TABLE IF NOT EXISTS events (event_id INTEGER PRIMARY KEY, datetime_received INTEGER, event TEXT, received_ns INTEGER);";

    private static readonly IntPtr Copied = new IntPtr(-1); // SQLITE_TRANSIENT

    private readonly IntPtr database;
    private readonly IntPtr insert;

    public SqliteSink(FeedSettings settings)
    {
        Check(Native.sqlite3_open(Utf8(settings.Output), out database));
        Check(Native.sqlite3_exec(database, Utf8(Schema), IntPtr.Zero, IntPtr.Zero, IntPtr.Zero));
        IntPtr start = Prepare(
            "INSERT INTO test_details (vps_id, connector_id, exchange_id, stream_id, stream_args, datetime_start)"
                + " VALUES (?, ?, ?, ?, ?, ?)");
        string[] details =
        {
            Environment.MachineName, settings.Target, settings.Exchange, settings.Stream, settings.Subscribe,
        };
        for (int at = 0; at < details.Length; at++)
        {
            byte[] text = Encoding.UTF8.GetBytes(details[at]);
            Native.sqlite3_bind_text(start, at + 1, text, text.Length, Copied);
        }
        Native.sqlite3_bind_int64(start, details.Length + 1, Moment.After(0).UnixMs);
        Step(start);
        Native.sqlite3_finalize(start);
        insert = Prepare("INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)");
    }

    public void Write(Moment at, Kind kind, ArraySegment<byte> payload)
    {
        switch (kind)
        {
            case Kind.Text:
            case Kind.Binary:
                Insert(at, kind, payload);
                break;
            case Kind.End:
                Native.sqlite3_finalize(insert);
                Check(Native.sqlite3_close(database));
                break;
        }
    }

    private void Insert(Moment at, Kind kind, ArraySegment<byte> payload)
    {
        Native.sqlite3_bind_int64(insert, 1, at.UnixMs);
        // Every payload begins where its array does.
        if (kind == Kind.Text)
            Native.sqlite3_bind_text(insert, 2, payload.Array, payload.Count, Copied);
        else
            Native.sqlite3_bind_blob(insert, 2, payload.Array, payload.Count, Copied);
        Native.sqlite3_bind_int64(insert, 3, at.MonotonicNs);
        Step(insert);
    }

    private IntPtr Prepare(string text)
    {
        Check(Native.sqlite3_prepare_v2(database, Utf8(text), -1, out IntPtr statement, IntPtr.Zero));
        return statement;
    }

    private void Step(IntPtr statement)
    {
        Native.sqlite3_step(statement);
        Check(Native.sqlite3_reset(statement)); // says what went wrong in the step
    }

    private void Check(int result)
    {
        if (result != Ok)
            throw new IOException(Marshal.PtrToStringAnsi(Native.sqlite3_errmsg(database)));
    }

    private static byte[] Utf8(string text)
    {
        return Encoding.UTF8.GetBytes(text + "\0");
    }

    private static class Native
    {
        private const string Library = "libsqlite3.so.0";

        [DllImport(Library)]
        public static extern int sqlite3_open(byte[] path, out IntPtr database);

        [DllImport(Library)]
        public static extern int sqlite3_close(IntPtr database);

        [DllImport(Library)]
        public static extern int sqlite3_exec(IntPtr database, byte[] text, IntPtr callback, IntPtr context, IntPtr error);

        [DllImport(Library)]
        public static extern int sqlite3_prepare_v2(IntPtr database, byte[] text, int bytes, out IntPtr statement, IntPtr rest);

        [DllImport(Library)]
        public static extern int sqlite3_bind_int64(IntPtr statement, int at, long value);

        [DllImport(Library)]
        public static extern int sqlite3_bind_text(IntPtr statement, int at, byte[] text, int bytes, IntPtr destructor);

        [DllImport(Library)]
        public static extern int sqlite3_bind_blob(IntPtr statement, int at, byte[] blob, int bytes, IntPtr destructor);

        [DllImport(Library)]
        public static extern int sqlite3_step(IntPtr statement);

        [DllImport(Library)]
        public static extern int sqlite3_reset(IntPtr statement);

        [DllImport(Library)]
        public static extern int sqlite3_finalize(IntPtr statement);

        [DllImport(Library)]
        public static extern IntPtr sqlite3_errmsg(IntPtr database);
    }
}

/// <summary>A thread of its own inserts.</summary>
internal sealed class SqliteBehindSink : ISink
{
    private readonly BlockingCollection<Action> waiting = new BlockingCollection<Action>();
    private readonly ISink inserter;
    private readonly Thread thread;
    private volatile Exception problem;

    public SqliteBehindSink(ISink inserter)
    {
        this.inserter = inserter;
        thread = new Thread(Insert) { IsBackground = true };
        thread.Start();
    }

    public void Write(Moment at, Kind kind, ArraySegment<byte> payload)
    {
        var kept = new ArraySegment<byte>(payload.ToArray()); // the buffer is used again
        waiting.Add(() => inserter.Write(at, kind, kept));
        if (kind == Kind.End)
        {
            waiting.CompleteAdding();
            thread.Join();
        }
        if (problem != null)
            throw problem;
    }

    private void Insert()
    {
        try
        {
            foreach (Action write in waiting.GetConsumingEnumerable())
                write();
        }
        catch (IOException error)
        {
            problem = error;
        }
    }
}
