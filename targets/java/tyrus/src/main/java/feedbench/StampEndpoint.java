package feedbench;

import jakarta.websocket.CloseReason;
import jakarta.websocket.CloseReason.CloseCodes;
import jakarta.websocket.OnMessage;
import jakarta.websocket.OnOpen;
import jakarta.websocket.Session;
import jakarta.websocket.server.ServerEndpoint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.json.JSONException;

/** Greets, then answers each count with count and time. */
@ServerEndpoint("/stamp")
public final class StampEndpoint {
  @OnOpen
  public void greet(Session session) throws IOException {
    session.getBasicRemote().sendText(Stamp.greeting());
  }

  @OnMessage
  public void answer(String text, Session session) throws IOException {
    Knobs.beforeAnswer(text);
    try {
      session.getBasicRemote().sendText(Stamp.answer(text));
    } catch (JSONException notAStamp) {
      session.close(new CloseReason(CloseCodes.CANNOT_ACCEPT, ""));
    }
  }

  @OnMessage
  public void answer(ByteBuffer bytes, Session session) throws IOException {
    answer(StandardCharsets.UTF_8.decode(bytes).toString(), session);
  }
}
