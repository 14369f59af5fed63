package feedbench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** The server's certificate and key, from PEM files. */
public final class Tls {
  private static final boolean WANTED = Knobs.chosen("FEEDBENCH_TLS", "off", "on").equals("on");
  private static final char[] NO_PASSWORD = {};

  private Tls() {}

  public static boolean wanted() {
    return WANTED;
  }

  public static Path certificateFile() {
    return file("FEEDBENCH_TLS_CERTIFICATE");
  }

  public static Path keyFile() {
    return file("FEEDBENCH_TLS_KEY");
  }

  /** For libraries that take the JDK's TLS rather than PEM files. */
  public static SSLContext context() {
    try {
      Certificate[] chain = chain(certificateFile());
      KeyStore keys = KeyStore.getInstance("PKCS12");
      keys.load(null, NO_PASSWORD);
      keys.setKeyEntry("server", privateKey(keyFile(), chain[0]), NO_PASSWORD, chain);
      KeyManagerFactory managers =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      managers.init(keys, NO_PASSWORD);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(managers.getKeyManagers(), null, null);
      return context;
    } catch (IOException | GeneralSecurityException problem) {
      throw unusable(problem);
    }
  }

  /** Ends the process because certificate or key can't be used. */
  public static Error unusable(Throwable problem) {
    return Launch.fail("cannot use FEEDBENCH_TLS_CERTIFICATE with FEEDBENCH_TLS_KEY: " + problem);
  }

  private static Path file(String variable) {
    try {
      return Path.of(System.getenv().getOrDefault(variable, ""));
    } catch (InvalidPathException notAPath) {
      throw unusable(notAPath);
    }
  }

  private static Certificate[] chain(Path file) throws IOException, GeneralSecurityException {
    try (var stream = Files.newInputStream(file)) {
      Certificate[] chain =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(stream)
              .toArray(new Certificate[0]);
      if (chain.length == 0) {
        throw new IOException(file + " holds no certificate");
      }
      return chain;
    }
  }

  private static PrivateKey privateKey(Path file, Certificate certificate)
      throws IOException, GeneralSecurityException {
    String pem = Files.readString(file);
    String begin = "-----BEGIN PRIVATE KEY-----";
    int start = pem.indexOf(begin);
    int end = pem.indexOf("-----END PRIVATE KEY-----");
    if (start < 0 || end < start) {
      throw new IOException(file + " holds no \"PRIVATE KEY\" (PKCS #8)");
    }
    byte[] encoded = Base64.getMimeDecoder().decode(pem.substring(start + begin.length(), end));
    return KeyFactory.getInstance(certificate.getPublicKey().getAlgorithm())
        .generatePrivate(new PKCS8EncodedKeySpec(encoded));
  }
}
