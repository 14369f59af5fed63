package feedbench;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.ServerWebSocket;
import io.vertx.core.http.ServerWebSocketHandshake;
import io.vertx.core.net.PemKeyCertOptions;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import org.json.JSONException;

/** Echo and stamp servers with Vert.x. */
public final class Server extends VerticleBase {
  /** Vert.x's default is 256 KiB, in frames of at most 64 KiB. */
  private static final int MAXIMUM_MESSAGE_BYTES = 16 << 20;

  private static final short UNSUPPORTED_DATA = 1003;

  private final InetSocketAddress address;

  private Server(InetSocketAddress address) {
    this.address = address;
  }

  @Override
  public Future<?> start() {
    return vertx
        .createHttpServer(options())
        .webSocketHandshakeHandler(Server::admit)
        .webSocketHandler(Server::serve)
        .requestHandler(request -> request.response().setStatusCode(404).end())
        .listen(address.getPort(), address.getHostString());
  }

  private static HttpServerOptions options() {
    HttpServerOptions options =
        new HttpServerOptions()
            .setMaxWebSocketFrameSize(MAXIMUM_MESSAGE_BYTES)
            .setMaxWebSocketMessageSize(MAXIMUM_MESSAGE_BYTES);
    if (!Knobs.deflate(true)) {
      options
          .setPerMessageWebSocketCompressionSupported(false)
          .setPerFrameWebSocketCompressionSupported(false);
    }
    if (Tls.wanted()) {
      options
          .setSsl(true)
          .setUseAlpn(false) // the upgrade to WebSocket wants HTTP/1.1
          .setKeyCertOptions(
              new PemKeyCertOptions()
                  .setCertPath(Tls.certificateFile().toString())
                  .setKeyPath(Tls.keyFile().toString()));
    }
    return options;
  }

  private static void admit(ServerWebSocketHandshake handshake) {
    switch (handshake.path()) {
      case "/echo", "/stamp" -> handshake.accept();
      default -> handshake.reject(404);
    }
  }

  private static void serve(ServerWebSocket socket) {
    if (socket.path().equals("/stamp")) {
      serveStamps(socket);
    } else {
      serveEchoes(socket);
    }
  }

  private static void serveEchoes(ServerWebSocket socket) {
    socket.textMessageHandler(
        text -> {
          Knobs.beforeAnswer(text);
          socket.writeTextMessage(text);
        });
    socket.binaryMessageHandler(
        bytes -> {
          Knobs.beforeAnswer(bytes);
          socket.writeBinaryMessage(bytes);
        });
  }

  private static void serveStamps(ServerWebSocket socket) {
    socket.textMessageHandler(text -> answerStamp(socket, text));
    socket.binaryMessageHandler(
        bytes -> answerStamp(socket, bytes.toString(StandardCharsets.UTF_8)));
    socket.writeTextMessage(Stamp.greeting());
  }

  private static void answerStamp(ServerWebSocket socket, String text) {
    Knobs.beforeAnswer(text);
    try {
      socket.writeTextMessage(Stamp.answer(text));
    } catch (JSONException notAStamp) {
      socket.close(UNSUPPORTED_DATA);
    }
  }

  public static void main(String[] arguments) {
    InetSocketAddress address = Launch.address(arguments);
    int threads = Knobs.threads(1);
    // One instance on each event loop; Vert.x lets them share the port.
    Vertx.vertx(new VertxOptions().setEventLoopPoolSize(threads))
        .deployVerticle(() -> new Server(address), new DeploymentOptions().setInstances(threads))
        .onFailure(
            cause -> {
              throw Tls.wanted()
                  ? Launch.fail("cannot serve: " + cause)
                  : Launch.cannotListen(address, cause);
            });
  }
}
