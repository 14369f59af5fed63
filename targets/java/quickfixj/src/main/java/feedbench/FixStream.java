package feedbench;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a FIX client is asked to follow: {@code /TARGETCOMPID/SYMBOL/ENTRYTYPES}, where a symbol may
 * have a slash in it.
 */
record FixStream(String target, String symbol, List<Character> entryTypes) {
  private static final Pattern STREAM = Pattern.compile("/?([^/]+)/(.+)/(\\w(?:,\\w)*)");

  static FixStream read(String stream) {
    Matcher parts = STREAM.matcher(stream);
    if (!parts.matches()) {
      throw Launch.wrongUsage("the stream " + stream + " is not /TARGETCOMPID/SYMBOL/ENTRYTYPES");
    }
    List<Character> entryTypes =
        Pattern.compile(",").splitAsStream(parts.group(3)).map(type -> type.charAt(0)).toList();
    return new FixStream(parts.group(1), parts.group(2), entryTypes);
  }
}
