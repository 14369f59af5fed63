package feedbench;

import java.nio.ByteBuffer;

/** Keeps what was received; after each call that is with the kernel. */
interface Sink {
  /** The sink that the settings name; the process ends when its file can't be had. */
  static Sink open(FeedSettings settings) {
    try {
      return switch (settings.sink()) {
        case "stamps" -> new StampsSink(settings.output());
        case "sqlite" -> new SqliteSink(settings);
        case "sqlite_behind" -> new SqliteBehindSink(new SqliteSink(settings));
        default -> new Nowhere();
      };
    } catch (Exception problem) {
      throw Launch.fail("cannot write " + settings.output() + ": " + Launch.innermost(problem));
    }
  }

  default void connected(Moment at) throws Exception {}

  void text(Moment at, String message) throws Exception;

  void binary(Moment at, ByteBuffer message) throws Exception;

  /** The last call; an empty reason for an end that was asked for. */
  void end(Moment at, String reason) throws Exception;

  /** The sink {@code none}. */
  final class Nowhere implements Sink {
    @Override
    public void text(Moment at, String message) {}

    @Override
    public void binary(Moment at, ByteBuffer message) {}

    @Override
    public void end(Moment at, String reason) {}
  }
}
