package feedbench;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolHandler.ClientHandshakeStateEvent;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.util.concurrent.TimeUnit;

/**
 * A connection to the exchange, made again and again until it is left; its messages go to a group
 * of clients, which are told nothing else.
 */
final class Upstream {
  // Before connecting again; doubled from one to the other.
  private static final long FIRST_WAIT_MS = 100;
  private static final long LONGEST_WAIT_MS = 2000;

  private final RelayRecord record;
  private final EventLoopGroup loop;
  private final ChannelGroup clients;
  private final FeedConnection connection;
  private Channel channel;
  private long waitMs = FIRST_WAIT_MS;
  private boolean left;

  Upstream(RelayRecord record, EventLoopGroup loop, ChannelGroup clients) {
    this.record = record;
    this.loop = loop;
    this.clients = clients;
    connection = new FeedConnection(record.settings, Following::new);
  }

  void connect() {
    if (left) {
      return;
    }
    ChannelFuture connecting = connection.connect(loop);
    channel = connecting.channel();
    connecting.addListener(
        connected -> {
          if (!connected.isSuccess()) {
            again("lost: " + Launch.innermost(connected.cause()));
          }
        });
  }

  /** For good. */
  void leave() {
    left = true;
    channel.close();
  }

  private void again(String reason) {
    if (left) {
      return;
    }
    System.err.println(reason + "; again in " + waitMs / 1000.0 + " s");
    record.lost(reason);
    loop.schedule(this::connect, waitMs, TimeUnit.MILLISECONDS);
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
  }

  /** One connection: passes whole messages on, and remembers how it ended. */
  private final class Following extends SimpleChannelInboundHandler<WebSocketFrame> {
    private String ending = "lost: no close frame";

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      if (event == ClientHandshakeStateEvent.HANDSHAKE_COMPLETE) {
        waitMs = FIRST_WAIT_MS;
        record.connected();
        record
            .subscriptions()
            .forEach(message -> context.writeAndFlush(new TextWebSocketFrame(message)));
      }
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, WebSocketFrame frame) {
      Moment at = record.now();
      if (frame instanceof TextWebSocketFrame || frame instanceof BinaryWebSocketFrame) {
        clients.writeAndFlush(frame.retain()); // one piece of memory, whose references are counted
        record.entered(at, frame);
      } else if (frame instanceof CloseWebSocketFrame close) {
        ending = ("closed: " + close.statusCode() + " " + close.reasonText()).strip();
        context.writeAndFlush(close.retain()).addListener(ChannelFutureListener.CLOSE);
      }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      ending = "lost: " + Launch.innermost(cause);
      context.close();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      again(ending);
    }
  }
}
