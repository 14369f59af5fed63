package feedbench;

import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler.HandshakeComplete;
import java.nio.charset.StandardCharsets;
import org.json.JSONException;

/** Greets, then answers each count with count and time. */
final class StampHandler extends MessageHandler {
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof HandshakeComplete) {
      context.writeAndFlush(new TextWebSocketFrame(Stamp.greeting()));
    }
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, WebSocketFrame message) {
    String text = message.content().toString(StandardCharsets.UTF_8);
    Knobs.beforeAnswer(text);
    try {
      context.writeAndFlush(new TextWebSocketFrame(Stamp.answer(text)));
    } catch (JSONException notAStamp) {
      context
          .writeAndFlush(new CloseWebSocketFrame(WebSocketCloseStatus.INVALID_MESSAGE_TYPE))
          .addListener(ChannelFutureListener.CLOSE);
    }
  }
}
