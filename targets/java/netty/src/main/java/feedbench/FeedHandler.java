package feedbench;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolHandler.ClientHandshakeStateEvent;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.util.List;

/** Takes down whole messages, and how the connection ended. */
final class FeedHandler extends SimpleChannelInboundHandler<WebSocketFrame> {
  private final Feed feed;
  private final List<String> subscriptions;

  FeedHandler(Feed feed, List<String> subscriptions) {
    this.feed = feed;
    this.subscriptions = subscriptions;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event == ClientHandshakeStateEvent.HANDSHAKE_COMPLETE) {
      var close = new CloseWebSocketFrame(WebSocketCloseStatus.NORMAL_CLOSURE);
      feed.connected(() -> context.writeAndFlush(close));
      subscriptions.forEach(message -> context.writeAndFlush(new TextWebSocketFrame(message)));
    }
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, WebSocketFrame frame) {
    Moment at = feed.now();
    if (frame instanceof TextWebSocketFrame text) {
      feed.text(at, text.text());
    } else if (frame instanceof BinaryWebSocketFrame binary) {
      feed.binary(at, binary.content().nioBuffer());
    } else if (frame instanceof CloseWebSocketFrame close) {
      int code = close.statusCode();
      String reason = close.reasonText();
      context.writeAndFlush(close.retain()).addListener(sent -> feed.closed(code, reason));
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    feed.lost("no close frame");
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    feed.lost(Launch.innermost(cause));
  }
}
