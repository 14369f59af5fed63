package feedbench;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.codec.http.websocketx.extensions.compression.WebSocketServerCompressionHandler;
import java.util.function.Function;

/** Puts the handlers of the path that a request asks for into the pipeline, and leaves it. */
final class Router extends SimpleChannelInboundHandler<FullHttpRequest> {
  /** Netty's default is 64 KiB, below what a feed's snapshot takes. */
  private static final int MAXIMUM_MESSAGE_BYTES = 16 << 20;

  private static final boolean DEFLATE = Knobs.deflate(false);

  private final Function<String, ChannelHandler> handlers;

  /**
   * @param handlers a new one for each connection, by its path; null for a path that there is not
   */
  Router(Function<String, ChannelHandler> handlers) {
    this.handlers = handlers;
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
    ChannelHandler handler = handlers.apply(new QueryStringDecoder(request.uri()).path());
    if (handler == null) {
      refuse(context);
    } else {
      upgrade(context, request, handler);
    }
  }

  private static void upgrade(
      ChannelHandlerContext context, FullHttpRequest request, ChannelHandler handler) {
    ChannelPipeline pipeline = context.pipeline();
    if (DEFLATE) {
      pipeline.addLast(new WebSocketServerCompressionHandler(MAXIMUM_MESSAGE_BYTES));
    }
    var protocol =
        WebSocketServerProtocolConfig.newBuilder()
            .websocketPath("/")
            .checkStartsWith(true)
            .allowExtensions(DEFLATE)
            .maxFramePayloadLength(MAXIMUM_MESSAGE_BYTES)
            .build();
    pipeline
        .addLast(new WebSocketServerProtocolHandler(protocol))
        .addLast(new WebSocketFrameAggregator(MAXIMUM_MESSAGE_BYTES))
        .addLast(handler);
    context.fireChannelRead(request.retain());
    pipeline.remove(context.handler());
  }

  private static void refuse(ChannelHandlerContext context) {
    var response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, HttpResponseStatus.NOT_FOUND, Unpooled.EMPTY_BUFFER);
    response.headers().set(HttpHeaderNames.CONTENT_LENGTH, 0);
    context.writeAndFlush(response).addListener(ChannelFutureListener.CLOSE);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }
}
