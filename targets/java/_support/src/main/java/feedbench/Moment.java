package feedbench;

/** When a message was handed over: CLOCK_MONOTONIC, which all processes share, and Unix time. */
public record Moment(long monotonicNs, long unixMs) {
  /** Now, or after spinning, for the control whose messages are late by a known time. */
  static Moment after(long delayNs) {
    long monotonicNs = System.nanoTime(); // on Linux CLOCK_MONOTONIC since the machine's start
    for (long start = monotonicNs; monotonicNs - start < delayNs; ) {
      monotonicNs = System.nanoTime();
    }
    return new Moment(monotonicNs, System.currentTimeMillis());
  }
}
