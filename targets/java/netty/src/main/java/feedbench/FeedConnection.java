package feedbench;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;
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
import java.util.function.Supplier;
import javax.net.ssl.SSLException;

/**
 * Connections to an exchange, by the handlers of Netty's WebSocket client example and an aggregator
 * for fragments.
 */
final class FeedConnection extends ChannelInitializer<SocketChannel> {
  private static final int MAXIMUM_RESPONSE_BYTES = 65_536;

  /** Netty's default is 64 KiB, below what a feed's snapshot takes. */
  private static final int MAXIMUM_MESSAGE_BYTES = 16 << 20;

  private final FeedSettings settings;
  private final Supplier<ChannelHandler> handlers;
  private final SslContext tls;

  /**
   * @param handlers a new one for each connection, which whole messages are handed to
   */
  FeedConnection(FeedSettings settings, Supplier<ChannelHandler> handlers) {
    this.settings = settings;
    this.handlers = handlers;
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
        .addLast(handlers.get());
  }

  ChannelFuture connect(EventLoopGroup loop) {
    return new Bootstrap()
        .group(loop)
        .channel(NioSocketChannel.class)
        .option(ChannelOption.TCP_NODELAY, true)
        .handler(this)
        .connect(settings.uri().getHost(), settings.uri().getPort());
  }
}
