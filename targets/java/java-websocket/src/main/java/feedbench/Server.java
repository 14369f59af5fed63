package feedbench;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.java_websocket.WebSocket;
import org.java_websocket.drafts.Draft;
import org.java_websocket.drafts.Draft_6455;
import org.java_websocket.exceptions.InvalidDataException;
import org.java_websocket.extensions.permessage_deflate.PerMessageDeflateExtension;
import org.java_websocket.framing.CloseFrame;
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.handshake.ServerHandshakeBuilder;
import org.java_websocket.server.DefaultSSLWebSocketServerFactory;
import org.java_websocket.server.WebSocketServer;
import org.json.JSONException;

/** Echo and stamp servers with Java-WebSocket. */
public final class Server extends WebSocketServer {
  private static final int SELECTOR_THREAD = 1;

  private Server(InetSocketAddress address) {
    // The second argument: threads that decode and call us, beside the selector's own.
    super(address, Knobs.threads(SELECTOR_THREAD + 1) - SELECTOR_THREAD, List.of(draft()));
    setTcpNoDelay(true);
    setReuseAddr(true);
    if (Tls.wanted()) {
      setWebSocketFactory(new DefaultSSLWebSocketServerFactory(Tls.context()));
    }
  }

  private static Draft draft() {
    return Knobs.deflate(false)
        ? new Draft_6455(new PerMessageDeflateExtension())
        : new Draft_6455();
  }

  @Override
  public ServerHandshakeBuilder onWebsocketHandshakeReceivedAsServer(
      WebSocket connection, Draft draft, ClientHandshake request) throws InvalidDataException {
    String path = request.getResourceDescriptor();
    if (!path.equals("/echo") && !path.equals("/stamp")) {
      throw new InvalidDataException(CloseFrame.POLICY_VALIDATION, "there is nothing at " + path);
    }
    return super.onWebsocketHandshakeReceivedAsServer(connection, draft, request);
  }

  @Override
  public void onOpen(WebSocket connection, ClientHandshake request) {
    boolean stamps = request.getResourceDescriptor().equals("/stamp");
    connection.setAttachment(stamps);
    if (stamps) {
      connection.send(Stamp.greeting());
    }
  }

  @Override
  public void onMessage(WebSocket connection, String message) {
    Knobs.beforeAnswer(message);
    if (connection.<Boolean>getAttachment()) {
      answerStamp(connection, message);
    } else {
      connection.send(message);
    }
  }

  @Override
  public void onMessage(WebSocket connection, ByteBuffer message) {
    if (connection.<Boolean>getAttachment()) {
      onMessage(connection, StandardCharsets.UTF_8.decode(message).toString());
    } else {
      Knobs.beforeAnswer(message);
      connection.send(message);
    }
  }

  private static void answerStamp(WebSocket connection, String message) {
    try {
      connection.send(Stamp.answer(message));
    } catch (JSONException notAStamp) {
      connection.close(CloseFrame.REFUSE);
    }
  }

  @Override
  public void onClose(WebSocket connection, int code, String reason, boolean remote) {}

  @Override
  public void onError(WebSocket connection, Exception error) {
    if (connection == null) { // the server's own trouble: it could not bind
      throw Launch.cannotListen(getAddress(), error);
    }
  }

  @Override
  public void onStart() {}

  public static void main(String[] arguments) {
    new Server(Launch.address(arguments)).run();
  }
}
