package feedbench;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * What a feed client's command line and environment say (spec/feed.md).
 *
 * @param deflate null for the library's default
 * @param subscribe null when the path subscribes
 * @param authority who is trusted for wss; null for the system's authorities
 * @param output null without a sink
 * @param exitFile null when there is none
 */
public record FeedSettings(
    String target,
    String exchange,
    String stream,
    URI uri,
    String subscribe,
    Boolean deflate,
    Path authority,
    String sink,
    Path output,
    Path exitFile,
    boolean parse,
    boolean logMessages,
    long delayNs) {
  private static final int MAXIMUM_PORT = 65535;

  /** What a library can do beside the rest. */
  public enum Deflate {
    ABLE,
    UNABLE
  }

  /** Ends the process with one line when something makes no sense. */
  public static FeedSettings read(String target, String[] arguments, Deflate able) {
    if (arguments.length != 4) {
      throw Launch.wrongUsage("usage: Client EXCHANGE DOMAIN PORT STREAM");
    }
    String sink = knob("FEEDBENCH_SINK", "stamps", "sqlite", "sqlite_behind", "none");
    knob(
        "FEEDBENCH_STAMP",
        "after"); // there is no receive call before which the clock could be read
    return new FeedSettings(
        target,
        arguments[0],
        arguments[3],
        uri("ws://", "wss://", arguments),
        System.getenv("FEEDBENCH_SUBSCRIBE"),
        deflate(able),
        path("FEEDBENCH_CA_FILE"),
        sink,
        output(sink),
        path("FEEDBENCH_EXIT_FILE"),
        knob("FEEDBENCH_PARSE", "off", "on").equals("on"),
        knob("FEEDBENCH_LOG_MESSAGES", "false", "true").equals("true"),
        number("FEEDBENCH_DELAY_NS", "0"));
  }

  public boolean isEncrypted() {
    return uri.getScheme().equals("wss");
  }

  /** The messages to send once the connection is open. */
  public List<String> subscriptions() {
    return subscribe == null || subscribe.isEmpty() ? List.of() : List.of(subscribe.split("\n"));
  }

  /** For libraries that take the JDK's TLS. */
  public SSLContext sslContext() {
    return trusting(authority);
  }

  /** Trusts the authority alone; null: the system's. */
  static SSLContext trusting(Path authority) {
    try {
      if (authority == null) {
        return SSLContext.getDefault();
      }
      TrustManagerFactory managers =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(trusted(authority));
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, managers.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException problem) {
      throw Launch.fail("cannot use FEEDBENCH_CA_FILE " + authority + ": " + problem);
    }
  }

  private static KeyStore trusted(Path authority) throws IOException, GeneralSecurityException {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (var stream = Files.newInputStream(authority)) {
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(stream)) {
        trusted.setCertificateEntry("authority-" + trusted.size(), one);
      }
    }
    return trusted;
  }

  /** Of the four arguments; {@code secure} unless the domain begins with {@code plain}. */
  static URI uri(String plain, String secure, String[] arguments) {
    String domain = arguments[1];
    String port = arguments[2];
    if (!Pattern.matches("\\d{1,5}", port) || Integer.parseInt(port) > MAXIMUM_PORT) {
      throw Launch.wrongUsage("the port is " + port + ": say a number up to " + MAXIMUM_PORT);
    }
    String origin = domain.startsWith(plain) ? domain : secure + domain;
    try {
      return URI.create(origin + ":" + port + arguments[3]);
    } catch (IllegalArgumentException problem) {
      throw Launch.wrongUsage("domain and stream make no URL: " + problem.getMessage());
    }
  }

  static Path output(String sink) {
    Path output = path("FEEDBENCH_OUTPUT");
    if (output == null && !sink.equals("none")) {
      throw Launch.wrongUsage("FEEDBENCH_OUTPUT names no file for what is received");
    }
    return output;
  }

  private static Boolean deflate(Deflate able) {
    String value =
        able == Deflate.ABLE
            ? knob("FEEDBENCH_DEFLATE", "default", "off", "on")
            : knob("FEEDBENCH_DEFLATE", "default", "off");
    return value.equals("default") ? null : value.equals("on");
  }

  static long number(String variable, String usual) {
    String value = System.getenv().getOrDefault(variable, usual);
    if (!Pattern.matches("\\d{1,18}", value)) {
      throw Launch.unsupported(variable + "=" + value + ": say a whole number");
    }
    return Long.parseLong(value);
  }

  /** The variable's value, the first of those allowed when it is unset. */
  static String knob(String variable, String... allowed) {
    String value = System.getenv().getOrDefault(variable, allowed[0]);
    if (!List.of(allowed).contains(value)) {
      throw Launch.unsupported(variable + "=" + value + ": this client can't do that");
    }
    return value;
  }

  static Path path(String variable) {
    String value = System.getenv(variable);
    return value == null || value.isEmpty() ? null : Path.of(value);
  }
}
