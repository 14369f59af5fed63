package feedbench;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.TimeUnit;
import org.json.JSONException;
import org.json.JSONTokener;

/**
 * One connection to one exchange, from the command line to the exit status: what the Java feed
 * clients share (spec/feed.md). A library's threads call it; nothing is recorded after the end.
 */
public final class Feed {
  /** What RFC 6455 calls a connection that broke without a close frame (section 7.1.5). */
  public static final int ABNORMAL_CLOSURE = 1006;

  private static final long EXIT_FILE_EVERY_MS = 250;
  private static final long CLOSING_AT_MOST_MS =
      1000; // a peer that does not answer is left after that

  private final FeedSettings settings;
  private final Sink sink;
  private Runnable closing; // null: not connected
  private boolean ending;

  private Feed(FeedSettings settings) {
    this.settings = settings;
    this.sink = Sink.open(settings);
  }

  /** Reads the settings and opens the sink; a wrong setting ends the process. */
  public static Feed open(FeedSettings settings) {
    Feed feed = new Feed(settings);
    // Also what SIGTERM starts: a JVM that it ends by itself returns 143.
    Runtime.getRuntime().addShutdownHook(new Thread(feed::endAsAsked));
    if (settings.exitFile() != null) {
      Thread watch = new Thread(feed::watchExitFile);
      watch.setDaemon(true);
      watch.start();
    }
    return feed;
  }

  /** The handshake is done; {@code closing} starts the closing one. */
  public synchronized void connected(Runnable closing) {
    this.closing = closing;
    write(() -> sink.connected(now()));
  }

  /** When a message was handed over; the first thing that a handler asks for. */
  public Moment now() {
    return Moment.after(settings.delayNs());
  }

  public void text(Moment at, String message) {
    synchronized (this) {
      write(() -> sink.text(at, message));
    }
    if (settings.parse()) {
      parse(message);
    }
    if (settings.logMessages()) {
      System.out.println(message);
    }
  }

  public void binary(Moment at, ByteBuffer message) {
    synchronized (this) {
      write(() -> sink.binary(at, message.duplicate()));
    }
    if (settings.logMessages()) {
      System.out.println(StandardCharsets.UTF_8.decode(message.duplicate()));
    }
  }

  /**
   * The connection has ended, by a close frame with this code unless it is {@link
   * #ABNORMAL_CLOSURE}.
   */
  public void closed(int code, String reason) {
    if (code == ABNORMAL_CLOSURE) {
      lost(reason);
    } else {
      end(("closed: " + code + " " + reason).strip());
    }
  }

  /** The connection broke. */
  public void lost(String reason) {
    String told = reason == null || reason.isEmpty() ? "no close frame" : reason;
    end("lost: " + told);
  }

  /** Ends the process because there was no connection. */
  public synchronized void cannotConnect(Throwable problem) {
    if (!ending) {
      throw Launch.fail("cannot connect to " + settings.uri() + ": " + Launch.innermost(problem));
    }
  }

  /** It has ended for a reason in the words of its protocol. */
  synchronized void end(String reason) {
    if (closing == null) {
      cannotConnect(new IllegalStateException(reason));
    } else {
      finish(ending ? "" : reason);
    }
  }

  private void watchExitFile() {
    do {
      sleep(EXIT_FILE_EVERY_MS);
    } while (!Files.exists(settings.exitFile()));
    System.exit(0); // runs the hook
  }

  private void endAsAsked() {
    synchronized (this) {
      ending = true;
      if (closing == null) {
        throw Launch.success();
      }
    }
    new Thread(closing).start(); // it may wait for the answer
    sleep(CLOSING_AT_MOST_MS); // the library tells before that, as a rule
    synchronized (this) {
      finish("");
    }
  }

  /** Keeps the lock, so that no other thread records anything more. */
  private void finish(String reason) {
    write(() -> sink.end(now(), reason));
    throw reason.isEmpty() ? Launch.success() : Launch.fail(reason);
  }

  private void write(Step step) {
    try {
      step.run();
    } catch (Exception problem) {
      throw Launch.fail("cannot write " + settings.output() + ": " + Launch.innermost(problem));
    }
  }

  private static void sleep(long ms) {
    try {
      TimeUnit.MILLISECONDS.sleep(ms);
    } catch (InterruptedException impossible) {
      throw new AssertionError(impossible);
    }
  }

  /**
   * What decoding costs is what the knob is for; a text that is no JSON was recorded like any
   * other.
   */
  static void parse(String message) {
    try {
      new JSONTokener(message).nextValue();
    } catch (JSONException notJson) {
      // recorded already
    }
  }

  private interface Step {
    void run() throws Exception;
  }
}
