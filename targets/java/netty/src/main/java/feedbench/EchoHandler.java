package feedbench;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.nio.charset.StandardCharsets;

/** Sends each message back as it came. */
final class EchoHandler extends MessageHandler {
  @Override
  protected void channelRead0(ChannelHandlerContext context, WebSocketFrame message) {
    Knobs.beforeAnswer(() -> message.content().toString(StandardCharsets.UTF_8));
    context.writeAndFlush(message.retain());
  }
}
