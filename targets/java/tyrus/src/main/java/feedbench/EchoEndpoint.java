package feedbench;

import jakarta.websocket.OnMessage;
import jakarta.websocket.server.ServerEndpoint;
import java.nio.ByteBuffer;

/** Sends each message back as it came. */
@ServerEndpoint("/echo")
public final class EchoEndpoint {
  @OnMessage
  public String echo(String text) {
    Knobs.beforeAnswer(text);
    return text;
  }

  @OnMessage
  public ByteBuffer echo(ByteBuffer bytes) {
    Knobs.beforeAnswer(bytes);
    return bytes;
  }
}
