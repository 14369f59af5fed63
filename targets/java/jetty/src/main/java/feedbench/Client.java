package feedbench;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.eclipse.jetty.websocket.api.StatusCode;
import org.eclipse.jetty.websocket.client.ClientUpgradeRequest;
import org.eclipse.jetty.websocket.client.WebSocketClient;

/** Feed client with Jetty. */
public final class Client extends Session.Listener.AbstractAutoDemanding {
  /** Jetty's default is 64 KiB, below what a feed's snapshot takes. */
  private static final int MAXIMUM_MESSAGE_BYTES = 16 << 20;

  private final Feed feed;
  private final List<String> subscriptions;

  private Client(Feed feed, List<String> subscriptions) {
    this.feed = feed;
    this.subscriptions = subscriptions;
  }

  @Override
  public void onWebSocketOpen(Session session) {
    super.onWebSocketOpen(session);
    feed.connected(() -> session.close(StatusCode.NORMAL, null, Callback.NOOP));
    subscriptions.forEach(message -> session.sendText(message, Callback.NOOP));
  }

  @Override
  public void onWebSocketText(String message) {
    feed.text(feed.now(), message);
  }

  @Override
  public void onWebSocketBinary(ByteBuffer message, Callback callback) {
    feed.binary(feed.now(), message);
    callback.succeed();
  }

  @Override
  public void onWebSocketClose(int code, String reason, Callback callback) {
    callback.succeed();
    feed.closed(code, reason);
  }

  private static HttpClient http(FeedSettings settings) {
    HttpClient http = new HttpClient();
    if (settings.isEncrypted()) {
      var tls = new SslContextFactory.Client();
      tls.setSslContext(settings.sslContext());
      http.setSslContextFactory(tls);
    }
    return http;
  }

  public static void main(String[] arguments) throws Exception {
    FeedSettings settings =
        FeedSettings.read("java/jetty", arguments, FeedSettings.Deflate.ABLE);
    Feed feed = Feed.open(settings);
    WebSocketClient client = new WebSocketClient(http(settings));
    client.setMaxTextMessageSize(MAXIMUM_MESSAGE_BYTES);
    client.setMaxBinaryMessageSize(MAXIMUM_MESSAGE_BYTES);
    client.setIdleTimeout(Duration.ZERO); // by default a stream that is quiet for 30 s is left
    client.start();
    var request = new ClientUpgradeRequest(settings.uri());
    if (Boolean.TRUE.equals(settings.deflate())) {
      request.addExtensions("permessage-deflate");
    }
    client
        .connect(new Client(feed, settings.subscriptions()), request)
        .exceptionally(
            problem -> {
              feed.cannotConnect(problem);
              return null;
            });
  }
}
