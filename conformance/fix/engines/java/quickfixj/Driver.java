import java.io.ByteArrayInputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import quickfix.ApplicationAdapter;
import quickfix.DefaultMessageFactory;
import quickfix.FieldNotFound;
import quickfix.Group;
import quickfix.MemoryStoreFactory;
import quickfix.Message;
import quickfix.SLF4JLogFactory;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionSettings;
import quickfix.SocketInitiator;

/** QuickFIX/J as it comes from Maven Central: an initiator that subscribes, and prints what it got as JSON lines. */
public final class Driver extends ApplicationAdapter {
  private static final int[] ENTRY_TAGS = {279, 269, 278, 55, 270, 271, 272, 273};
  private static final String SETTINGS =
      """
      [DEFAULT]
      ConnectionType=initiator
      HeartBtInt=30
      ReconnectInterval=1
      SocketConnectHost=127.0.0.1
      SocketConnectPort=%d
      StartTime=00:00:00
      EndTime=00:00:00
      TimeZone=UTC
      UseDataDictionary=Y
      ResetOnLogon=Y
      [SESSION]
      BeginString=FIX.4.4
      SenderCompID=QFJ
      TargetCompID=FEEDBENCH
      """;

  private final PrintStream out = System.out;
  private final CountDownLatch loggedOn = new CountDownLatch(1);
  private final CountDownLatch loggedOut = new CountDownLatch(1);
  private final CountDownLatch done;
  private final AtomicInteger resendRequests = new AtomicInteger();
  private final AtomicInteger rejects = new AtomicInteger();
  private final AtomicInteger snapshots = new AtomicInteger();

  private Driver(int wanted) {
    done = new CountDownLatch(wanted);
  }

  public static void main(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[0]);
    Driver driver = new Driver(Integer.parseInt(arguments[1]));
    long deadlineSeconds = Long.parseLong(arguments[2]);
    byte[] text = SETTINGS.formatted(port).getBytes(StandardCharsets.UTF_8);
    SessionSettings settings = new SessionSettings(new ByteArrayInputStream(text));
    SocketInitiator initiator =
        new SocketInitiator(
            driver,
            new MemoryStoreFactory(),
            settings,
            // What it says is not for stdout; without a logger of its own, SLF4J keeps it.
            new SLF4JLogFactory(settings),
            new DefaultMessageFactory());
    initiator.start();
    SessionID session = initiator.getSessions().get(0);
    if (driver.loggedOn.await(deadlineSeconds, TimeUnit.SECONDS)) {
      Session.sendToTarget(request(), session);
      driver.done.await(deadlineSeconds, TimeUnit.SECONDS);
    }
    Session.lookupSession(session).logout();
    driver.loggedOut.await(deadlineSeconds, TimeUnit.SECONDS);
    driver.out.printf(
        "{\"kind\":\"end\",\"logged_on\":%b,\"logged_out\":%b,\"snapshots\":%d,\"resend_requests\":%d,\"rejects\":%d}%n",
        driver.loggedOn.getCount() == 0,
        driver.loggedOut.getCount() == 0,
        driver.snapshots.get(),
        driver.resendRequests.get(),
        driver.rejects.get());
    driver.out.flush();
    initiator.stop(true);
  }

  private static Message request() {
    Message message = new Message();
    message.getHeader().setString(35, "V");
    message.setString(262, "1");
    message.setString(263, "1");
    message.setString(264, "0");
    message.setString(265, "1");
    for (String type : List.of("0", "1", "2")) {
      Group group = new Group(267, 269);
      group.setString(269, type);
      message.addGroup(group);
    }
    Group group = new Group(146, 55);
    group.setString(55, "BTC/USD");
    message.addGroup(group);
    return message;
  }

  @Override
  public void onLogon(SessionID session) {
    loggedOn.countDown();
  }

  @Override
  public void onLogout(SessionID session) {
    loggedOut.countDown();
  }

  @Override
  public void toAdmin(Message message, SessionID session) {
    count(message);
  }

  @Override
  public void fromAdmin(Message message, SessionID session) {
    count(message);
  }

  private void count(Message message) {
    String type = type(message);
    if (type.equals("2")) {
      resendRequests.incrementAndGet();
    } else if (type.equals("3")) {
      rejects.incrementAndGet();
    }
  }

  @Override
  public void fromApp(Message message, SessionID session) throws FieldNotFound {
    switch (type(message)) {
      case "W" -> snapshots.incrementAndGet();
      case "X" -> take(message);
      default -> rejects.incrementAndGet();
    }
  }

  private void take(Message message) throws FieldNotFound {
    if (done.getCount() == 0) {
      return;
    }
    List<String> entries = new ArrayList<>();
    for (Group group : message.getGroups(268)) {
      List<String> fields = new ArrayList<>();
      for (int tag : ENTRY_TAGS) {
        if (group.isSetField(tag)) {
          fields.add("\"%d\":\"%s\"".formatted(tag, group.getString(tag)));
        }
      }
      entries.add("{" + String.join(",", fields) + "}");
    }
    out.println("{\"kind\":\"X\",\"entries\":[" + String.join(",", entries) + "]}");
    done.countDown();
  }

  private static String type(Message message) {
    try {
      return message.getHeader().getString(35);
    } catch (FieldNotFound error) {
      throw new IllegalStateException("a message without a type", error);
    }
  }
}
