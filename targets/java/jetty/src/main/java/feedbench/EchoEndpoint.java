package feedbench;

import java.nio.ByteBuffer;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;

/** Sends each message back as it came. */
public final class EchoEndpoint extends Session.Listener.AbstractAutoDemanding {
  @Override
  public void onWebSocketText(String text) {
    Knobs.beforeAnswer(text);
    getSession().sendText(text, Callback.NOOP);
  }

  @Override
  public void onWebSocketBinary(ByteBuffer bytes, Callback callback) {
    Knobs.beforeAnswer(bytes);
    getSession().sendBinary(bytes, callback); // the buffer is ours until the callback is told
  }
}
