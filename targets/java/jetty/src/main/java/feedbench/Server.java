package feedbench;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.function.Supplier;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;
import org.eclipse.jetty.websocket.server.WebSocketCreator;
import org.eclipse.jetty.websocket.server.WebSocketUpgradeHandler;

/** Echo and stamp servers with Jetty. */
public final class Server {
  /** Jetty's default is 64 KiB. */
  private static final int MAXIMUM_MESSAGE_BYTES = 16 << 20;

  private static final boolean DEFLATE = Knobs.deflate(true);
  private static final int ACCEPTORS = 0; // a selector accepts too
  private static final int SELECTORS = 1;
  private static final int LEAST_THREADS = 3; // selector, reserved thread, and one more

  private Server() {}

  private static void configure(ServerWebSocketContainer container) {
    container.setMaxTextMessageSize(MAXIMUM_MESSAGE_BYTES);
    container.setMaxBinaryMessageSize(MAXIMUM_MESSAGE_BYTES);
    container.setMaxFrameSize(MAXIMUM_MESSAGE_BYTES);
    container.addMapping("/echo", creating(EchoEndpoint::new));
    container.addMapping("/stamp", creating(StampEndpoint::new));
  }

  private static WebSocketCreator creating(Supplier<Object> endpoint) {
    return (request, response, callback) -> {
      if (!DEFLATE) {
        response.setExtensions(List.of());
      }
      return endpoint.get();
    };
  }

  private static ConnectionFactory[] protocols() {
    HttpConnectionFactory http = new HttpConnectionFactory();
    if (!Tls.wanted()) {
      return new ConnectionFactory[] {http};
    }
    SslContextFactory.Server tls = new SslContextFactory.Server();
    tls.setSslContext(Tls.context());
    return new ConnectionFactory[] {new SslConnectionFactory(tls, http.getProtocol()), http};
  }

  public static void main(String[] arguments) {
    InetSocketAddress address = Launch.address(arguments);
    var server =
        new org.eclipse.jetty.server.Server(new QueuedThreadPool(Knobs.threads(LEAST_THREADS)));
    var connector =
        new ServerConnector(server, null, null, null, ACCEPTORS, SELECTORS, protocols());
    connector.setHost(address.getHostString());
    connector.setPort(address.getPort());
    connector.setReusePort(Knobs.reusePort());
    server.addConnector(connector);
    server.setHandler(WebSocketUpgradeHandler.from(server, Server::configure));
    try {
      server.start();
    } catch (Exception cause) {
      throw Launch.cannotListen(address, cause);
    }
  }
}
