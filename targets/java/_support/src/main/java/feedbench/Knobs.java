package feedbench;

import java.util.function.Supplier;

/** What the environment asks for; spec/README.md names the variables under "Knobs". */
public final class Knobs {
  private static final boolean LOG_MESSAGES =
      chosen("FEEDBENCH_LOG_MESSAGES", "false", "true").equals("true");
  private static final long DELAY_NS = number("FEEDBENCH_DELAY_NS", 0, 0);

  private Knobs() {}

  /** Whether permessage-deflate is wanted; {@code usual} is the library's default. */
  public static boolean deflate(boolean usual) {
    return chosen("FEEDBENCH_DEFLATE", usual ? "on" : "off", usual ? "off" : "on").equals("on");
  }

  public static boolean reusePort() {
    return chosen("FEEDBENCH_REUSE_PORT", "off", "on").equals("on");
  }

  /** The number of threads that serve connections; {@code least} is also the default. */
  public static int threads(int least) {
    long threads = number("FEEDBENCH_THREADS", least, 1);
    if (threads < least) {
      throw Launch.unsupported(
          "FEEDBENCH_THREADS is " + threads + ": this library needs " + least + " at least");
    }
    return (int) Math.min(threads, Short.MAX_VALUE);
  }

  /** Does what the knobs ask for between a message and its answer; usually nothing. */
  public static void beforeAnswer(Object message) {
    beforeAnswer(() -> message);
  }

  /** For libraries whose messages want to be decoded before they can be shown. */
  public static void beforeAnswer(Supplier<?> message) {
    if (LOG_MESSAGES) {
      System.out.println(message.get());
    }
    if (DELAY_NS > 0) {
      long start = System.nanoTime();
      while (System.nanoTime() - start < DELAY_NS) {
        Thread.onSpinWait();
      }
    }
  }

  /** The variable's value, {@code usual} when it is unset; nothing but these two is taken. */
  static String chosen(String variable, String usual, String other) {
    String value = System.getenv().getOrDefault(variable, usual);
    if (!value.equals(usual) && !value.equals(other)) {
      throw Launch.fail(variable + " is \"" + value + "\": say " + usual + " or " + other);
    }
    return value;
  }

  private static long number(String variable, long usual, long least) {
    String value = System.getenv(variable);
    if (value == null) {
      return usual;
    }
    try {
      long parsed = Long.parseLong(value);
      if (parsed >= least) {
        return parsed;
      }
    } catch (NumberFormatException notANumber) {
      // told below, like a number that is too small
    }
    throw Launch.fail(variable + " is \"" + value + "\": say a whole number from " + least + " on");
  }
}
