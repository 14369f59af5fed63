package feedbench;

import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;

/**
 * Feed client with the JDK's own java.net.http. It hands over parts, which are put together here.
 */
public final class Client implements WebSocket.Listener {
  private static final int NO_CODE = 1005; // RFC 6455, section 7.1.5

  private final FeedSettings settings;
  private final Feed feed;
  private final StringBuilder text = new StringBuilder();
  private ByteBuffer binary = ByteBuffer.allocate(1 << 16);

  private Client(FeedSettings settings) {
    this.settings = settings;
    feed = Feed.open(settings);
  }

  @Override
  public void onOpen(WebSocket connection) {
    feed.connected(() -> connection.sendClose(WebSocket.NORMAL_CLOSURE, ""));
    CompletableFuture<WebSocket> sent = CompletableFuture.completedFuture(connection);
    for (String subscription : settings.subscriptions()) {
      sent = sent.thenCompose(open -> open.sendText(subscription, true));
    }
    connection.request(1);
  }

  @Override
  public CompletionStage<?> onText(WebSocket connection, CharSequence part, boolean last) {
    Moment at = feed.now();
    if (last && text.isEmpty()) {
      feed.text(at, part.toString());
    } else {
      text.append(part);
      if (last) {
        feed.text(at, text.toString());
        text.setLength(0);
      }
    }
    connection.request(1);
    return null;
  }

  @Override
  public CompletionStage<?> onBinary(WebSocket connection, ByteBuffer part, boolean last) {
    Moment at = feed.now();
    if (last && binary.position() == 0) {
      feed.binary(at, part);
    } else {
      append(part);
      if (last) {
        feed.binary(at, binary.flip());
        binary.clear();
      }
    }
    connection.request(1);
    return null;
  }

  private void append(ByteBuffer part) {
    if (binary.remaining() < part.remaining()) {
      binary = ByteBuffer.allocate(2 * (binary.position() + part.remaining())).put(binary.flip());
    }
    binary.put(part);
  }

  @Override
  public CompletionStage<?> onClose(WebSocket connection, int code, String reason) {
    // The library would answer when this has returned, but the process ends with it.
    connection
        .sendClose(code == NO_CODE ? WebSocket.NORMAL_CLOSURE : code, "")
        .whenComplete((sent, problem) -> feed.closed(code, reason));
    return new CompletableFuture<>(); // never: the answer is sent already
  }

  @Override
  public void onError(WebSocket connection, Throwable problem) {
    feed.lost(Launch.innermost(problem));
  }

  private void follow() throws InterruptedException {
    HttpClient.Builder client = HttpClient.newBuilder();
    if (settings.isEncrypted()) {
      client.sslContext(settings.sslContext());
    }
    try {
      client.build().newWebSocketBuilder().buildAsync(settings.uri(), this).get();
    } catch (ExecutionException problem) {
      feed.cannotConnect(problem);
    }
    Thread.currentThread().join(); // the library's threads do the rest, and end the process
  }

  public static void main(String[] arguments) throws InterruptedException {
    new Client(FeedSettings.read("java/java-net-http", arguments, FeedSettings.Deflate.UNABLE))
        .follow();
  }
}
