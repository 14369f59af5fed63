using System;

/// <summary>What a record tells, as the stamps file numbers it.</summary>
public enum Kind : byte
{
    Text = 1,
    Binary = 2,
    Connected = 3,
    End = 4,
}

/// <summary>Keeps what was received; after each call that is with the kernel.</summary>
internal interface ISink
{
    /// <summary>The last call is that of an end, whose payload is the reason; empty for one that was asked for.</summary>
    void Write(Moment at, Kind kind, ArraySegment<byte> payload);
}

/// <summary>The sink <c>none</c>.</summary>
internal sealed class NoSink : ISink
{
    public void Write(Moment at, Kind kind, ArraySegment<byte> payload) { }
}
