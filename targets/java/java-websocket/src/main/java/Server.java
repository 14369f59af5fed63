import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import org.java_websocket.WebSocket;
import org.java_websocket.drafts.Draft;
import org.java_websocket.drafts.Draft_6455;
import org.java_websocket.exceptions.InvalidDataException;
import org.java_websocket.extensions.permessage_deflate.PerMessageDeflateExtension;
import org.java_websocket.framing.CloseFrame;
import org.java_websocket.handshake.ClientHandshake;
import org.java_websocket.handshake.ServerHandshakeBuilder;
import org.java_websocket.server.WebSocketServer;
import org.json.JSONException;
import org.json.JSONObject;

/** Echo and stamp servers with Java-WebSocket. */
public final class Server extends WebSocketServer {
  private static final boolean DEFLATE = "on".equals(System.getenv("FEEDBENCH_DEFLATE"));
  private static final boolean LOG_MESSAGES =
      "true".equals(System.getenv("FEEDBENCH_LOG_MESSAGES"));
  private static final long DELAY_NS =
      Long.parseLong(System.getenv().getOrDefault("FEEDBENCH_DELAY_NS", "0"));

  private Server(InetSocketAddress address) {
    super(address, 1, List.of(draft())); // 1: threads that decode and call us, beside the selector's
    setTcpNoDelay(true);
    setReuseAddr(true);
  }

  private static Draft draft() {
    return DEFLATE ? new Draft_6455(new PerMessageDeflateExtension()) : new Draft_6455();
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
      connection.send(stamp(0));
    }
  }

  @Override
  public void onMessage(WebSocket connection, String message) {
    beforeAnswer(message);
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
      beforeAnswer(message);
      connection.send(message);
    }
  }

  private static void answerStamp(WebSocket connection, String message) {
    try {
      connection.send(stamp(new JSONObject(message).getLong("c")));
    } catch (JSONException notAStamp) {
      connection.close(CloseFrame.REFUSE);
    }
  }

  private static String stamp(long count) {
    return new JSONObject().put("c", count).put("ts", Instant.now().getEpochSecond()).toString();
  }

  private static void beforeAnswer(Object message) {
    if (LOG_MESSAGES) {
      System.out.println(message);
    }
    if (DELAY_NS > 0) {
      long start = System.nanoTime();
      while (System.nanoTime() - start < DELAY_NS) {
        Thread.onSpinWait();
      }
    }
  }

  @Override
  public void onClose(WebSocket connection, int code, String reason, boolean remote) {}

  @Override
  public void onError(WebSocket connection, Exception error) {
    if (connection == null) { // the server's own trouble: it could not bind
      System.err.println("cannot listen on " + getAddress() + ": " + error.getMessage());
      Runtime.getRuntime().halt(1);
    }
  }

  @Override
  public void onStart() {}

  public static void main(String[] arguments) {
    if (arguments.length != 4
        || !arguments[0].equals("--host")
        || !arguments[2].equals("--port")) {
      System.err.println("usage: Server --host HOST --port PORT");
      System.exit(2);
    }
    // A JVM that is told to end by SIGTERM returns 143; halt makes it the 0 of a clean end.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
    new Server(new InetSocketAddress(arguments[1], Integer.parseInt(arguments[3]))).run();
  }
}
