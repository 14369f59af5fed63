package feedbench;

import java.io.ByteArrayInputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import quickfix.ApplicationAdapter;
import quickfix.ConfigError;
import quickfix.DefaultMessageFactory;
import quickfix.FieldNotFound;
import quickfix.MemoryStoreFactory;
import quickfix.Message;
import quickfix.SLF4JLogFactory;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionNotFound;
import quickfix.SessionSettings;
import quickfix.SessionStateListener;
import quickfix.SocketInitiator;
import quickfix.field.AggregatedBook;
import quickfix.field.MDEntryType;
import quickfix.field.MDReqID;
import quickfix.field.MarketDepth;
import quickfix.field.MsgType;
import quickfix.field.SubscriptionRequestType;
import quickfix.field.Symbol;
import quickfix.field.Text;
import quickfix.fix44.MarketDataRequest;

/** Feed client over FIX 4.4 with QuickFIX/J. */
public final class Client extends ApplicationAdapter implements SessionStateListener {
  private static final int TOP_OF_BOOK = 1;
  private static final String SETTINGS =
      """
      [DEFAULT]
      ConnectionType=initiator
      HeartBtInt=30
      SocketTcpNoDelay=Y
      NonStopSession=Y
      ResetOnLogon=Y
      SocketConnectHost=%s
      SocketConnectPort=%d
      %s
      [SESSION]
      BeginString=FIX.4.4
      SenderCompID=F%d
      TargetCompID=%s
      DataDictionary=%s
      """;
  private static final String TLS =
      """
      SocketUseSSL=Y
      EndpointIdentificationAlgorithm=HTTPS
      SocketTrustStore=%s
      SocketTrustStorePassword=%s
      TrustStoreType=PKCS12
      """;

  private final FixStream wanted;
  private final URI uri;
  private final Feed feed;
  private String ending = "lost: it hung up";

  private Client(FeedSettings settings) {
    wanted = FixStream.read(settings.stream());
    uri = settings.uri();
    feed = Feed.open(settings);
  }

  private void follow(FeedSettings settings) throws ConfigError, InterruptedException {
    String tls = "";
    if (uri.getScheme().equals("fixs")) {
      tls = TLS.formatted(TrustStore.of(settings.authority()).file(), TrustStore.PASSWORD);
    }
    // Binance's groups are not the standard's, and a group can't be read without its dictionary.
    String dictionary = wanted.target().equals("SPOT") ? "binance.xml" : "FIX44.xml";
    // A sender that is unique among the sessions of one machine, and short enough for Binance.
    long sender = ProcessHandle.current().pid();
    String text =
        SETTINGS.formatted(
            uri.getHost(), uri.getPort(), tls, sender, wanted.target(), dictionary);
    SessionSettings session =
        new SessionSettings(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    new SocketInitiator(
            this,
            new MemoryStoreFactory(),
            session,
            new SLF4JLogFactory(session),
            new DefaultMessageFactory())
        .start();
    new CountDownLatch(1).await(); // the library's threads are daemons; the feed ends the process
  }

  @Override
  public void onCreate(SessionID id) {
    Session.lookupSession(id).addStateListener(this);
  }

  @Override
  public void onLogon(SessionID id) {
    // Session.logout would wait for the session's next second.
    feed.connected(() -> Session.lookupSession(id).generateLogout());
    try {
      Session.sendToTarget(request(), id);
    } catch (SessionNotFound gone) {
      feed.lost(gone.getMessage());
    }
  }

  /** For every change from now on, of prices for that of the best alone. */
  private MarketDataRequest request() {
    MarketDataRequest request =
        new MarketDataRequest(
            new MDReqID("1"),
            new SubscriptionRequestType(SubscriptionRequestType.SNAPSHOT_UPDATES),
            new MarketDepth(TOP_OF_BOOK));
    request.set(new AggregatedBook(true));
    for (char entryType : wanted.entryTypes()) {
      MarketDataRequest.NoMDEntryTypes group = new MarketDataRequest.NoMDEntryTypes();
      group.set(new MDEntryType(entryType));
      request.addGroup(group);
    }
    MarketDataRequest.NoRelatedSym group = new MarketDataRequest.NoRelatedSym();
    group.set(new Symbol(wanted.symbol()));
    request.addGroup(group);
    return request;
  }

  @Override
  public void fromApp(Message message, SessionID id) throws FieldNotFound {
    Moment at = feed.now();
    switch (message.getHeader().getString(MsgType.FIELD)) {
      case MsgType.MARKET_DATA_SNAPSHOT_FULL_REFRESH, MsgType.MARKET_DATA_INCREMENTAL_REFRESH ->
          feed.text(at, message.toRawString());
      case MsgType.MARKET_DATA_REQUEST_REJECT, MsgType.BUSINESS_MESSAGE_REJECT ->
          feed.lost("refused: " + textOf(message));
      default -> {} // news
    }
  }

  @Override
  public void fromAdmin(Message message, SessionID id) throws FieldNotFound {
    switch (message.getHeader().getString(MsgType.FIELD)) {
      case MsgType.REJECT -> feed.lost("refused: " + textOf(message));
      // QuickFIX/J answers, and disconnects then.
      case MsgType.LOGOUT -> ending = ("closed: logout " + textOf(message)).strip();
      default -> {}
    }
  }

  private static String textOf(Message message) throws FieldNotFound {
    return message.isSetField(Text.FIELD) ? message.getString(Text.FIELD) : "";
  }

  @Override
  public void onConnectException(Exception problem) {
    feed.cannotConnect(problem);
  }

  @Override
  public void onDisconnect() {
    feed.end(ending);
  }

  public static void main(String[] arguments) throws ConfigError, InterruptedException {
    FeedSettings settings = settings(arguments);
    new Client(settings).follow(settings);
  }

  private static FeedSettings settings(String[] arguments) {
    if (arguments.length != 4) {
      throw Launch.wrongUsage("usage: Client EXCHANGE DOMAIN PORT STREAM");
    }
    String sink = FeedSettings.knob("FEEDBENCH_SINK", "stamps", "sqlite", "sqlite_behind", "none");
    return new FeedSettings(
        "java/quickfixj",
        arguments[0],
        arguments[3],
        FeedSettings.uri("fix://", "fixs://", arguments),
        null,
        null,
        FeedSettings.path("FEEDBENCH_CA_FILE"),
        sink,
        FeedSettings.output(sink),
        FeedSettings.path("FEEDBENCH_EXIT_FILE"),
        false, // what is handed over is parsed
        FeedSettings.knob("FEEDBENCH_LOG_MESSAGES", "false", "true").equals("true"),
        FeedSettings.number("FEEDBENCH_DELAY_NS", "0"));
  }
}
