package feedbench;

import jakarta.websocket.DeploymentException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.logging.LogManager;
import org.glassfish.grizzly.threadpool.ThreadPoolConfig;
import org.glassfish.tyrus.container.grizzly.server.GrizzlyServerContainer;

/** Echo and stamp servers with Tyrus on Grizzly. */
public final class Server {
  private static final int SELECTORS = 1;

  private Server() {}

  private static ThreadPoolConfig pool(int threads) {
    return ThreadPoolConfig.defaultConfig().setCorePoolSize(threads).setMaxPoolSize(threads);
  }

  public static void main(String[] arguments) throws InterruptedException {
    InetSocketAddress address = Launch.address(arguments);
    LogManager.getLogManager().reset(); // Tyrus and Grizzly tell of their start
    Map<String, Object> properties =
        Map.of(
            GrizzlyServerContainer.SELECTOR_THREAD_POOL_CONFIG, pool(SELECTORS),
            GrizzlyServerContainer.WORKER_THREAD_POOL_CONFIG,
                pool(Knobs.threads(SELECTORS + 1) - SELECTORS));
    var server =
        new org.glassfish.tyrus.server.Server(
            address.getHostString(),
            address.getPort(),
            "/",
            properties,
            EchoEndpoint.class,
            StampEndpoint.class);
    try {
      server.start();
    } catch (DeploymentException cause) {
      throw Launch.cannotListen(address, cause);
    }
    new CountDownLatch(1).await(); // Grizzly's threads are daemons; SIGTERM ends the process
  }
}
