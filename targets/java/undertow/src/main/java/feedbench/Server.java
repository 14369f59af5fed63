package feedbench;

import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.websockets.WebSocketConnectionCallback;
import io.undertow.websockets.WebSocketProtocolHandshakeHandler;
import io.undertow.websockets.core.AbstractReceiveListener;
import io.undertow.websockets.core.BufferedBinaryMessage;
import io.undertow.websockets.core.BufferedTextMessage;
import io.undertow.websockets.core.CloseMessage;
import io.undertow.websockets.core.WebSocketCallback;
import io.undertow.websockets.core.WebSocketChannel;
import io.undertow.websockets.core.WebSockets;
import io.undertow.websockets.extensions.PerMessageDeflateHandshake;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;
import org.json.JSONException;
import org.xnio.Pooled;

/** Echo and stamp servers with Undertow. */
public final class Server {
  /** Gives buffers of the pool back when they are sent, or can't be. */
  private static final WebSocketCallback<Pooled<ByteBuffer[]>> FREE =
      new WebSocketCallback<>() {
        @Override
        public void complete(WebSocketChannel channel, Pooled<ByteBuffer[]> pooled) {
          pooled.free();
        }

        @Override
        public void onError(
            WebSocketChannel channel, Pooled<ByteBuffer[]> pooled, Throwable cause) {
          pooled.free();
        }
      };

  private static final class Echo extends AbstractReceiveListener {
    @Override
    protected void onFullTextMessage(WebSocketChannel channel, BufferedTextMessage message) {
      String text = message.getData();
      Knobs.beforeAnswer(text);
      WebSockets.sendText(text, channel, null);
    }

    @Override
    protected void onFullBinaryMessage(WebSocketChannel channel, BufferedBinaryMessage message) {
      var pooled = message.getData();
      Knobs.beforeAnswer(pooled);
      WebSockets.sendBinary(pooled.getResource(), channel, FREE, pooled);
    }
  }

  private static final class Stamps extends AbstractReceiveListener {
    @Override
    protected void onFullTextMessage(WebSocketChannel channel, BufferedTextMessage message) {
      answer(channel, message.getData());
    }

    @Override
    protected void onFullBinaryMessage(WebSocketChannel channel, BufferedBinaryMessage message) {
      try (var pooled = message.getData()) {
        ByteBuffer bytes = WebSockets.mergeBuffers(pooled.getResource());
        answer(channel, StandardCharsets.UTF_8.decode(bytes).toString());
      }
    }

    private static void answer(WebSocketChannel channel, String text) {
      Knobs.beforeAnswer(text);
      try {
        WebSockets.sendText(Stamp.answer(text), channel, null);
      } catch (JSONException notAStamp) {
        WebSockets.sendClose(CloseMessage.MSG_CONTAINS_INVALID_DATA, "", channel, null);
      }
    }
  }

  private static WebSocketProtocolHandshakeHandler upgrading(WebSocketConnectionCallback callback) {
    var handler = new WebSocketProtocolHandshakeHandler(callback);
    return Knobs.deflate(false) ? handler.addExtension(new PerMessageDeflateHandshake()) : handler;
  }

  private static void serveEchoes(WebSocketChannel channel) {
    channel.getReceiveSetter().set(new Echo());
    channel.resumeReceives();
  }

  private static void serveStamps(WebSocketChannel channel) {
    channel.getReceiveSetter().set(new Stamps());
    channel.resumeReceives();
    WebSockets.sendText(Stamp.greeting(), channel, null);
  }

  public static void main(String[] arguments) {
    InetSocketAddress address = Launch.address(arguments);
    LogManager.getLogManager().reset(); // jboss-logging writes through it about each start
    Undertow.Builder builder =
        Undertow.builder()
            .setIoThreads(Knobs.threads(1))
            .setHandler(
                Handlers.path()
                    .addExactPath("/echo", upgrading((exchange, channel) -> serveEchoes(channel)))
                    .addExactPath(
                        "/stamp", upgrading((exchange, channel) -> serveStamps(channel))));
    if (Tls.wanted()) {
      builder.addHttpsListener(address.getPort(), address.getHostString(), Tls.context());
    } else {
      builder.addHttpListener(address.getPort(), address.getHostString());
    }
    try {
      builder.build().start();
    } catch (RuntimeException cause) {
      throw Launch.cannotListen(address, cause);
    }
  }
}
