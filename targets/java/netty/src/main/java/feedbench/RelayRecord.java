package feedbench;

import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.util.List;
import java.util.regex.Pattern;

/**
 * What a relay's command line and environment ask for, and its record of what enters (spec/feed.md,
 * Relays). The event loop and the shutdown hook call it; nothing is recorded after the end.
 */
final class RelayRecord {
  private static final int MAXIMUM_PORT = 65535;

  final FeedSettings settings;
  final boolean isShared;
  final String listenHost;
  final int listenPort;
  private final Sink sink;

  /** Opens the sink; the process ends with one line when something makes no sense. */
  RelayRecord(String[] arguments) {
    if (arguments.length != 6) {
      throw Launch.wrongUsage(
          "usage: Relay EXCHANGE DOMAIN PORT STREAM LISTEN_HOST LISTEN_PORT");
    }
    if (!Pattern.matches("\\d{1,5}", arguments[5])
        || Integer.parseInt(arguments[5]) > MAXIMUM_PORT) {
      throw Launch.wrongUsage(
          "the port is " + arguments[5] + ": say a number up to " + MAXIMUM_PORT);
    }
    listenHost = arguments[4];
    listenPort = Integer.parseInt(arguments[5]);
    isShared = FeedSettings.knob("FEEDBENCH_UPSTREAM", "shared", "each").equals("shared");
    String kind = FeedSettings.knob("FEEDBENCH_SINK", "none", "stamps");
    settings =
        new FeedSettings(
            "java/netty",
            arguments[0],
            arguments[3],
            FeedSettings.uri("ws://", "wss://", arguments),
            System.getenv("FEEDBENCH_SUBSCRIBE"),
            Knobs.deflate(false), // Netty's default, on both sides
            FeedSettings.path("FEEDBENCH_CA_FILE"),
            kind,
            FeedSettings.output(kind),
            null,
            false,
            false,
            FeedSettings.number("FEEDBENCH_DELAY_NS", "0"));
    sink = Sink.open(settings);
  }

  List<String> subscriptions() {
    return settings.subscriptions();
  }

  /** When a message was handed over; the first thing that a handler asks for. */
  Moment now() {
    return Moment.after(settings.delayNs());
  }

  void connected() {
    write(() -> sink.connected(Moment.after(0)));
  }

  void entered(Moment at, WebSocketFrame message) {
    if (message instanceof TextWebSocketFrame text) {
      write(() -> sink.text(at, text.text()));
    } else {
      write(() -> sink.binary(at, message.content().nioBuffer()));
    }
  }

  void lost(String reason) {
    write(() -> sink.end(Moment.after(0), reason));
  }

  /** The last record, and the end of the process. */
  synchronized Error end() {
    lost("");
    return Launch.success(); // which keeps the lock
  }

  private synchronized void write(Step step) {
    try {
      step.run();
    } catch (Exception problem) {
      throw Launch.fail("cannot write " + settings.output() + ": " + Launch.innermost(problem));
    }
  }

  private interface Step {
    void run() throws Exception;
  }
}
