using System;
using System.Buffers.Binary;
using System.IO;
using System.Text;

/// <summary>One write to the kernel for each message.</summary>
internal sealed class StampsSink : ISink
{
    private const int HeadBytes = 24;
    private const int Unbuffered = 1;

    private readonly FileStream file;
    private byte[] record = new byte[4096];

    public StampsSink(string path)
    {
        file = new FileStream(path, FileMode.Append, FileAccess.Write, FileShare.Read, Unbuffered);
        if (file.Length > 0)
            return;
        byte[] header = new byte[16];
        Encoding.ASCII.GetBytes("FBSTAMPS", 0, 8, header, 0);
        header[8] = 1; // the version
        file.Write(header, 0, header.Length);
    }

    public void Write(Moment at, Kind kind, ArraySegment<byte> payload)
    {
        int length = HeadBytes + payload.Count;
        if (record.Length < length)
            record = new byte[Math.Max(length, 2 * record.Length)];
        BinaryPrimitives.WriteInt64LittleEndian(record.AsSpan(0), at.MonotonicNs);
        BinaryPrimitives.WriteInt64LittleEndian(record.AsSpan(8), at.UnixMs);
        BinaryPrimitives.WriteInt32LittleEndian(record.AsSpan(16), payload.Count);
        BinaryPrimitives.WriteInt32LittleEndian(record.AsSpan(20), (byte)kind);
        payload.AsSpan().CopyTo(record.AsSpan(HeadBytes));
        file.Write(record, 0, length);
    }
}
