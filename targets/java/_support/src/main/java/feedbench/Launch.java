package feedbench;

import java.net.InetSocketAddress;
import java.nio.file.FileSystemException;

/** How a target starts and ends: its command line, its last words, its status. */
public final class Launch {
  private static final int FAILED = 1;
  private static final int WRONG_USAGE = 2;
  private static final int UNSUPPORTED = 127;

  private Launch() {}

  /**
   * The address that the command line names. From here on SIGTERM ends the process with status 0.
   */
  public static InetSocketAddress address(String[] arguments) {
    if (arguments.length != 4 || !arguments[0].equals("--host") || !arguments[2].equals("--port")) {
      throw end(WRONG_USAGE, "usage: Server --host HOST --port PORT");
    }
    try {
      InetSocketAddress address =
          new InetSocketAddress(arguments[1], Integer.parseInt(arguments[3]));
      // A JVM that is told to end by SIGTERM returns 143; halt makes it the 0 of a clean end.
      Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
      return address;
    } catch (IllegalArgumentException notAPort) {
      throw end(WRONG_USAGE, "the port is " + arguments[3] + ": say a number up to 65535");
    }
  }

  /**
   * Ends the process with one line; to be thrown, so that the compiler knows that nothing follows.
   */
  public static Error fail(String problem) {
    return end(FAILED, problem);
  }

  /** Ends the process because of its command line or a variable that is missing. */
  public static Error wrongUsage(String problem) {
    return end(WRONG_USAGE, problem);
  }

  /** Ends the process as one that did what it was asked. */
  public static Error success() {
    Runtime.getRuntime().halt(0);
    return new AssertionError("halt does not return");
  }

  /** Ends the process because the library can't do what was asked. */
  public static Error unsupported(String problem) {
    return end(UNSUPPORTED, problem);
  }

  /** Ends the process with the innermost cause, which is the operating system's word. */
  public static Error cannotListen(InetSocketAddress address, Throwable problem) {
    return fail("cannot listen on " + address + ": " + innermost(problem));
  }

  /** What the innermost cause says, on one line; its name when it says nothing. */
  static String innermost(Throwable problem) {
    Throwable cause = problem;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    String message = cause.getMessage();
    if (cause instanceof FileSystemException) {
      return cause.getClass().getSimpleName(); // its message is but the path
    }
    return message == null
        ? cause.getClass().getSimpleName()
        : message.lines().findFirst().orElse("");
  }

  private static Error end(int status, String problem) {
    System.err.println(problem);
    Runtime.getRuntime().halt(status); // not exit, whose hooks would make the status 0
    return new AssertionError("halt does not return");
  }
}
