package feedbench;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler.HandshakeComplete;
import java.net.InetSocketAddress;

/** Relays an exchange's feed with Netty, on both sides, by one event loop. */
public final class Relay extends ChannelInitializer<SocketChannel> {
  private static final int MAXIMUM_REQUEST_BYTES = 65_536;
  private static final long CLOSING_AT_MOST_MS = 1000;

  private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final ChannelGroup clients = group();
  private final RelayRecord record;

  private Relay(RelayRecord record) {
    this.record = record;
  }

  private ChannelGroup group() {
    return new DefaultChannelGroup(loop.next());
  }

  @Override
  protected void initChannel(SocketChannel channel) {
    channel
        .pipeline()
        .addLast(new HttpServerCodec())
        .addLast(new HttpObjectAggregator(MAXIMUM_REQUEST_BYTES))
        .addLast(new Router(this::handler));
  }

  private ChannelHandler handler(String path) {
    return path.equals("/feed") ? new Serving() : null;
  }

  /** A connection to /feed, which has nothing to say; the group forgets it when it is closed. */
  private final class Serving extends MessageHandler {
    private Upstream own;

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      if (event instanceof HandshakeComplete) {
        clients.add(context.channel());
        if (!record.isShared) {
          own = follow(context.channel());
        }
      }
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, WebSocketFrame message) {}

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      if (own != null) {
        own.leave();
      }
    }
  }

  private Upstream follow(Channel client) {
    ChannelGroup alone = group();
    alone.add(client);
    Upstream upstream = new Upstream(record, loop, alone);
    upstream.connect();
    return upstream;
  }

  private void serve() throws InterruptedException {
    var address = new InetSocketAddress(record.listenHost, record.listenPort);
    var bound =
        new ServerBootstrap()
            .group(loop)
            .channel(NioServerSocketChannel.class)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(this)
            .bind(address)
            .await();
    if (!bound.isSuccess()) {
      throw Launch.cannotListen(address, bound.cause());
    }
    // Also what SIGTERM starts: a JVM that it ends by itself returns 143.
    Runtime.getRuntime().addShutdownHook(new Thread(this::end));
    if (record.isShared) {
      loop.execute(() -> new Upstream(record, loop, clients).connect());
    }
  }

  private void end() {
    clients.writeAndFlush(new CloseWebSocketFrame(WebSocketCloseStatus.ENDPOINT_UNAVAILABLE));
    clients.newCloseFuture().awaitUninterruptibly(CLOSING_AT_MOST_MS); // when they have answered
    throw record.end();
  }

  public static void main(String[] arguments) throws InterruptedException {
    new Relay(new RelayRecord(arguments)).serve();
  }
}
