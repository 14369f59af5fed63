using System;
using System.Diagnostics;

/// <summary>When a message was handed over: CLOCK_MONOTONIC, which is what Stopwatch reads here, and Unix time.</summary>
public struct Moment
{
    private static readonly long NanosecondsPerTick = 1000000000 / Stopwatch.Frequency;

    public long MonotonicNs { get; private set; }

    public long UnixMs { get; private set; }

    /// <summary>Now, or after spinning for so long: the control, whose messages are late by a known time.</summary>
    public static Moment After(long delayNs)
    {
        long monotonicNs = Stopwatch.GetTimestamp() * NanosecondsPerTick;
        for (long untilNs = monotonicNs + delayNs; monotonicNs < untilNs;)
            monotonicNs = Stopwatch.GetTimestamp() * NanosecondsPerTick;
        return new Moment { MonotonicNs = monotonicNs, UnixMs = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() };
    }
}
