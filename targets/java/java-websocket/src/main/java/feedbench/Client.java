package feedbench;

import java.nio.ByteBuffer;
import java.util.List;
import org.java_websocket.client.WebSocketClient;
import org.java_websocket.drafts.Draft_6455;
import org.java_websocket.extensions.permessage_deflate.PerMessageDeflateExtension;
import org.java_websocket.framing.CloseFrame;
import org.java_websocket.handshake.ServerHandshake;

/** Feed client with Java-WebSocket. */
public final class Client extends WebSocketClient {
  private final Feed feed;
  private final List<String> subscriptions;

  private Client(FeedSettings settings) {
    super(settings.uri(), draft(settings));
    feed = Feed.open(settings);
    subscriptions = settings.subscriptions();
    if (settings.isEncrypted()) {
      setSocketFactory(settings.sslContext().getSocketFactory());
    }
  }

  private static Draft_6455 draft(FeedSettings settings) {
    return Boolean.TRUE.equals(settings.deflate())
        ? new Draft_6455(new PerMessageDeflateExtension())
        : new Draft_6455();
  }

  @Override
  public void onOpen(ServerHandshake handshake) {
    feed.connected(() -> close(CloseFrame.NORMAL));
    subscriptions.forEach(this::send);
  }

  @Override
  public void onMessage(String message) {
    feed.text(feed.now(), message);
  }

  @Override
  public void onMessage(ByteBuffer message) {
    feed.binary(feed.now(), message);
  }

  @Override
  public void onError(Exception problem) {
    if (!isOpen() && !isClosing()) {
      feed.cannotConnect(problem); // otherwise onClose tells
    }
  }

  @Override
  public void onClose(int code, String reason, boolean remote) {
    feed.closed(code, reason);
  }

  public static void main(String[] arguments) {
    new Client(FeedSettings.read("java/java-websocket", arguments, FeedSettings.Deflate.ABLE))
        .run();
  }
}
