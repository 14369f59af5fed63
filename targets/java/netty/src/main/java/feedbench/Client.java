package feedbench;

import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;

/** Feed client with Netty. */
public final class Client {
  private Client() {}

  public static void main(String[] arguments) throws InterruptedException {
    var settings = FeedSettings.read("java/netty", arguments, FeedSettings.Deflate.ABLE);
    Feed feed = Feed.open(settings);
    var connected =
        new FeedConnection(settings, () -> new FeedHandler(feed, settings.subscriptions()))
            .connect(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
            .await();
    if (!connected.isSuccess()) {
      feed.cannotConnect(connected.cause());
    }
  }
}
