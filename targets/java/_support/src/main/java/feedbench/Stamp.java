package feedbench;

import java.time.Instant;
import org.json.JSONException;
import org.json.JSONObject;
import org.json.JSONParserConfiguration;

/** The two messages of the stamp model. */
public final class Stamp {
  private static final JSONParserConfiguration STRICT =
      new JSONParserConfiguration().withStrictMode();

  private Stamp() {}

  /** What a stamp server says on connecting. */
  public static String greeting() {
    return stamped(0);
  }

  /**
   * The answer to {"c":n}.
   *
   * @throws JSONException for anything else; the connection should then end
   */
  public static String answer(String message) {
    Object count = new JSONObject(message, STRICT).get("c");
    if (count instanceof Integer || count instanceof Long) {
      return stamped(((Number) count).longValue());
    }
    throw new JSONException("\"c\" is no whole number");
  }

  private static String stamped(long count) {
    return new JSONObject().put("c", count).put("ts", Instant.now().getEpochSecond()).toString();
  }
}
