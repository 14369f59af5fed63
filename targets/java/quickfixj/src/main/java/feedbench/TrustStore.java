package feedbench;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;

/** The file of trusted authorities that QuickFIX/J's settings want, of the kind of the JDK's own. */
record TrustStore(Path file) {
  /** As the JDK has it. */
  static final String PASSWORD = "changeit";

  /** Of one PEM file alone; null: the system's authorities. */
  static TrustStore of(Path authority) {
    if (authority == null) {
      return new TrustStore(Path.of(System.getProperty("java.home"), "lib", "security", "cacerts"));
    }
    try {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      try (InputStream stream = Files.newInputStream(authority)) {
        for (Certificate one :
            CertificateFactory.getInstance("X.509").generateCertificates(stream)) {
          store.setCertificateEntry("authority-" + store.size(), one);
        }
      }
      Path file = Files.createTempFile("authorities", ".p12");
      try (OutputStream stream = Files.newOutputStream(file)) {
        store.store(stream, PASSWORD.toCharArray());
      }
      return new TrustStore(file);
    } catch (IOException | GeneralSecurityException problem) {
      throw Launch.fail("cannot use FEEDBENCH_CA_FILE " + authority + ": " + problem);
    }
  }
}
