package feedbench;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;

/** What echo and stamp have in common: whole messages arrive, and others deal with broken ones. */
abstract class MessageHandler extends SimpleChannelInboundHandler<WebSocketFrame> {
  /**
   * Passes over what the handlers before have met: the decoder answers a broken frame, and the
   * protocol handler closes. To close here as well would send a second close frame, with 1000.
   */
  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {}
}
