package feedbench;

import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * What a poller's command line and environment say (spec/feed.md, Pollers).
 *
 * @param authority who is trusted for https; null for the system's authorities
 * @param output null without a sink
 * @param exitFile null when there is none
 */
public record PollSettings(
    URI uri,
    boolean http2,
    Path authority,
    Path output,
    Path exitFile,
    boolean parse,
    long intervalNs,
    long delayNs) {
  private static final String USUAL_INTERVAL_NS = "20000000";

  /** Ends the process with one line when something makes no sense. */
  public static PollSettings read(String[] arguments) {
    if (arguments.length != 4) {
      throw Launch.wrongUsage("usage: Poller EXCHANGE DOMAIN PORT STREAM");
    }
    String sink = FeedSettings.knob("FEEDBENCH_SINK", "stamps", "none");
    return new PollSettings(
        FeedSettings.uri("http://", "https://", arguments),
        FeedSettings.knob("FEEDBENCH_HTTP", "1.1", "2").equals("2"),
        FeedSettings.path("FEEDBENCH_CA_FILE"),
        sink.equals("none") ? null : FeedSettings.output(sink),
        FeedSettings.path("FEEDBENCH_EXIT_FILE"),
        FeedSettings.knob("FEEDBENCH_PARSE", "off", "on").equals("on"),
        FeedSettings.number("FEEDBENCH_POLL_INTERVAL_NS", USUAL_INTERVAL_NS),
        FeedSettings.number("FEEDBENCH_DELAY_NS", "0"));
  }

  public boolean isEncrypted() {
    return uri.getScheme().equals("https");
  }

  /** For libraries that take the JDK's TLS. */
  public SSLContext sslContext() {
    return FeedSettings.trusting(authority);
  }

  /** The file that answers go to; the process ends when it can't be had. */
  Optional<StampsSink> openSink() {
    if (output == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(new StampsSink(output));
    } catch (Exception problem) {
      throw Launch.fail("cannot write " + output + ": " + Launch.innermost(problem));
    }
  }
}
