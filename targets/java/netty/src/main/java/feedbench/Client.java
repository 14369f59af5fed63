package feedbench;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolHandler;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.codec.http.websocketx.extensions.compression.WebSocketClientCompressionHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import javax.net.ssl.SSLException;

/** Feed client with Netty. */
public final class Client extends ChannelInitializer<SocketChannel> {
  private static final int MAXIMUM_RESPONSE_BYTES = 65_536;

  /** Netty's default is 64 KiB, below what a feed's snapshot takes. */
  private static final int MAXIMUM_MESSAGE_BYTES = 16 << 20;

  private final FeedSettings settings;
  private final Feed feed;
  private final SslContext tls;

  private Client(FeedSettings settings) {
    this.settings = settings;
    feed = Feed.open(settings);
    tls = settings.isEncrypted() ? trusting(settings) : null;
  }

  private static SslContext trusting(FeedSettings settings) {
    var context = SslContextBuilder.forClient();
    try {
      if (settings.authority() != null) {
        context.trustManager(settings.authority().toFile());
      }
      return context.build();
    } catch (SSLException | IllegalArgumentException problem) {
      String reason = Launch.innermost(problem);
      throw Launch.fail("cannot use FEEDBENCH_CA_FILE " + settings.authority() + ": " + reason);
    }
  }

  @Override
  protected void initChannel(SocketChannel channel) {
    ChannelPipeline pipeline = channel.pipeline();
    if (tls != null) {
      String host = settings.uri().getHost();
      pipeline.addLast(tls.newHandler(channel.alloc(), host, settings.uri().getPort()));
    }
    pipeline
        .addLast(new HttpClientCodec())
        .addLast(new HttpObjectAggregator(MAXIMUM_RESPONSE_BYTES));
    boolean deflate = Boolean.TRUE.equals(settings.deflate());
    if (deflate) {
      pipeline.addLast(new WebSocketClientCompressionHandler(MAXIMUM_MESSAGE_BYTES));
    }
    var protocol =
        WebSocketClientProtocolConfig.newBuilder()
            .webSocketUri(settings.uri())
            .allowExtensions(deflate)
            .maxFramePayloadLength(MAXIMUM_MESSAGE_BYTES)
            .handleCloseFrames(false) // it would keep code and reason to itself
            .build();
    pipeline
        .addLast(new WebSocketClientProtocolHandler(protocol))
        .addLast(new WebSocketFrameAggregator(MAXIMUM_MESSAGE_BYTES))
        .addLast(new FeedHandler(feed, settings.subscriptions()));
  }

  private void connect() throws InterruptedException {
    var connected =
        new Bootstrap()
            .group(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
            .channel(NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .handler(this)
            .connect(settings.uri().getHost(), settings.uri().getPort())
            .await();
    if (!connected.isSuccess()) {
      feed.cannotConnect(connected.cause());
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    new Client(FeedSettings.read("java/netty", arguments, FeedSettings.Deflate.ABLE)).connect();
  }
}
