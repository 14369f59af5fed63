package feedbench;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.unix.UnixChannelOption;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import javax.net.ssl.SSLException;

/** Echo and stamp servers with Netty. */
public final class Server {
  private static final int MAXIMUM_REQUEST_BYTES = 65_536;

  /** How sockets are watched: with the JDK's selector, or with Netty's own epoll code. */
  private enum EventLoop {
    NIO(NioIoHandler.newFactory(), NioServerSocketChannel.class) {
      @Override
      ChannelOption<Boolean> reusePort() {
        return NioChannelOption.of(StandardSocketOptions.SO_REUSEPORT);
      }
    },
    EPOLL(EpollIoHandler.newFactory(), EpollServerSocketChannel.class) {
      @Override
      ChannelOption<Boolean> reusePort() {
        return UnixChannelOption.SO_REUSEPORT;
      }
    };

    final IoHandlerFactory handlers;
    final Class<? extends ServerSocketChannel> channel;

    EventLoop(IoHandlerFactory handlers, Class<? extends ServerSocketChannel> channel) {
      this.handlers = handlers;
      this.channel = channel;
    }

    abstract ChannelOption<Boolean> reusePort();
  }

  private static final class Connection extends ChannelInitializer<SocketChannel> {
    private final SslContext tls;

    Connection(SslContext tls) {
      this.tls = tls;
    }

    @Override
    protected void initChannel(SocketChannel channel) {
      if (tls != null) {
        channel.pipeline().addLast(tls.newHandler(channel.alloc()));
      }
      channel
          .pipeline()
          .addLast(new HttpServerCodec())
          .addLast(new HttpObjectAggregator(MAXIMUM_REQUEST_BYTES))
          .addLast(new Router(Server::handler));
    }
  }

  private static ChannelHandler handler(String path) {
    return switch (path) {
      case "/echo" -> new EchoHandler();
      case "/stamp" -> new StampHandler();
      default -> null;
    };
  }

  private static SslContext tls() {
    try {
      return Tls.wanted()
          ? SslContextBuilder.forServer(Tls.certificateFile().toFile(), Tls.keyFile().toFile())
              .build()
          : null;
    } catch (SSLException | IllegalArgumentException problem) {
      throw Tls.unusable(problem);
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    InetSocketAddress address = Launch.address(arguments);
    EventLoop loop =
        Knobs.chosen("FEEDBENCH_EVENT_LOOP", "nio", "epoll").equals("epoll")
            ? EventLoop.EPOLL
            : EventLoop.NIO;
    var bound =
        new ServerBootstrap()
            .group(new MultiThreadIoEventLoopGroup(Knobs.threads(1), loop.handlers))
            .channel(loop.channel)
            .option(loop.reusePort(), Knobs.reusePort())
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(new Connection(tls()))
            .bind(address)
            .await();
    if (!bound.isSuccess()) {
      throw Launch.cannotListen(address, bound.cause());
    }
  }
}
