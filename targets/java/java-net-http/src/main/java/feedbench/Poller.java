package feedbench;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Poller with java.net.http, the JDK's own client. */
public final class Poller {
  private Poller() {}

  public static void main(String[] arguments) {
    PollSettings settings = PollSettings.read(arguments);
    if (settings.http2() && !settings.isEncrypted()) {
      // It would ask for an upgrade, which hardly any server grants, and stay with HTTP/1.1.
      throw Launch.unsupported("java.net.http speaks HTTP/2 over TLS only");
    }
    HttpClient client =
        HttpClient.newBuilder()
            .version(settings.http2() ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1)
            .sslContext(settings.sslContext())
            .build();
    HttpRequest request = HttpRequest.newBuilder(settings.uri()).build();
    Poll.open(settings)
        .follow(
            () -> {
              var response = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
              var retryAfter = response.headers().firstValue("Retry-After");
              return new Poll.Answer(response.statusCode(), retryAfter, response.body());
            });
  }
}
