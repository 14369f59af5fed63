package feedbench;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Asks one exchange for one resource, again and again, from the command line to the exit status:
 * what the Java pollers share (spec/feed.md, Pollers).
 */
public final class Poll {
  private static final int OK = 200;
  private static final int HEAD_BYTES = 12;
  private static final long EXIT_FILE_EVERY_MS = 250;

  private final PollSettings settings;
  private final Optional<StampsSink> sink;
  private boolean answered;

  /**
   * What a question brought.
   *
   * @param retryAfter the header
   */
  public record Answer(int status, Optional<String> retryAfter, byte[] body) {}

  private Poll(PollSettings settings) {
    this.settings = settings;
    this.sink = settings.openSink();
  }

  /** Opens the sink; a file that can't be had ends the process. */
  public static Poll open(PollSettings settings) {
    Poll poll = new Poll(settings);
    // Also what SIGTERM starts: a JVM that it ends by itself returns 143.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> poll.finish("")));
    if (settings.exitFile() != null) {
      Thread watch = new Thread(poll::watchExitFile);
      watch.setDaemon(true);
      watch.start();
    }
    return poll;
  }

  /** Asks and records until the end of the process. */
  public void follow(Callable<Answer> ask) {
    record(Moment.after(0), (file, at) -> file.connected(at));
    while (true) {
      long sentNs = System.nanoTime(); // on Linux CLOCK_MONOTONIC since the machine's start
      Answer answer;
      try {
        answer = ask.call();
      } catch (Exception problem) {
        throw lost(problem);
      }
      Moment received = Moment.after(settings.delayNs());
      answered = true;
      record(received, (file, at) -> file.answer(at, payload(sentNs, answer)));
      if (settings.parse()) {
        Feed.parse(new String(answer.body(), StandardCharsets.UTF_8));
      }
      pause(pauseNs(sentNs, answer));
    }
  }

  private long pauseNs(long sentNs, Answer answer) {
    String told = answer.retryAfter().orElse("");
    if (answer.status() != OK && Pattern.matches("\\d{1,9}", told)) {
      return TimeUnit.SECONDS.toNanos(Long.parseLong(told));
    }
    return settings.intervalNs() - (System.nanoTime() - sentNs);
  }

  private static ByteBuffer payload(long sentNs, Answer answer) {
    ByteBuffer payload =
        ByteBuffer.allocate(HEAD_BYTES + answer.body().length).order(ByteOrder.LITTLE_ENDIAN);
    payload.putLong(sentNs).putInt(answer.status()); // two bytes, and two of zero
    return payload.put(answer.body()).flip();
  }

  private Error lost(Exception problem) {
    String told = Launch.innermost(problem);
    return finish(answered ? "lost: " + told : "cannot connect to " + settings.uri() + ": " + told);
  }

  private void watchExitFile() {
    do {
      pause(TimeUnit.MILLISECONDS.toNanos(EXIT_FILE_EVERY_MS));
    } while (!Files.exists(settings.exitFile()));
    System.exit(0); // runs the hook
  }

  /** Keeps the lock, so that no other thread records anything more. */
  private synchronized Error finish(String reason) {
    record(Moment.after(0), (file, at) -> file.end(at, reason));
    return reason.isEmpty() ? Launch.success() : Launch.fail(reason);
  }

  private synchronized void record(Moment at, Step step) {
    if (sink.isEmpty()) {
      return;
    }
    try {
      step.run(sink.get(), at);
    } catch (Exception problem) {
      throw Launch.fail("cannot write " + settings.output() + ": " + Launch.innermost(problem));
    }
  }

  private static void pause(long ns) {
    try {
      TimeUnit.NANOSECONDS.sleep(ns);
    } catch (InterruptedException impossible) {
      throw new AssertionError(impossible);
    }
  }

  private interface Step {
    void run(StampsSink file, Moment at) throws Exception;
  }
}
