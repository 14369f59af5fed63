package feedbench;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.eclipse.jetty.websocket.api.StatusCode;
import org.json.JSONException;

/** Greets, then answers each count with count and time. */
public final class StampEndpoint extends Session.Listener.AbstractAutoDemanding {
  @Override
  public void onWebSocketOpen(Session session) {
    super.onWebSocketOpen(session);
    session.sendText(Stamp.greeting(), Callback.NOOP);
  }

  @Override
  public void onWebSocketText(String text) {
    Knobs.beforeAnswer(text);
    try {
      getSession().sendText(Stamp.answer(text), Callback.NOOP);
    } catch (JSONException notAStamp) {
      getSession().close(StatusCode.BAD_DATA, "", Callback.NOOP);
    }
  }

  @Override
  public void onWebSocketBinary(ByteBuffer bytes, Callback callback) {
    onWebSocketText(StandardCharsets.UTF_8.decode(bytes).toString());
    callback.succeed();
  }
}
