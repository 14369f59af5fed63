package feedbench;

import java.nio.ByteBuffer;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The sink {@code sqlite_behind}: a thread of its own inserts what it is handed. */
final class SqliteBehindSink implements Sink {
  private final BlockingQueue<Step> waiting = new LinkedBlockingQueue<>();
  private final SqliteSink inserter;
  private final Thread thread = new Thread(this::insert);
  private volatile Exception problem;
  private boolean isDone; // the thread's own

  SqliteBehindSink(SqliteSink inserter) {
    this.inserter = inserter;
    thread.setDaemon(true);
    thread.start();
  }

  private void insert() {
    try {
      while (!isDone) {
        waiting.take().run();
      }
    } catch (Exception met) {
      problem = met;
    }
  }

  @Override
  public void text(Moment at, String message) throws Exception {
    put(() -> inserter.text(at, message));
  }

  @Override
  public void binary(Moment at, ByteBuffer message) throws Exception {
    byte[] own = new byte[message.remaining()]; // the library may use its memory again
    message.get(own);
    put(() -> inserter.binary(at, ByteBuffer.wrap(own)));
  }

  @Override
  public void end(Moment at, String reason) throws Exception {
    put(
        () -> {
          inserter.end(at, reason);
          isDone = true;
        });
    thread.join();
    rethrow();
  }

  private void put(Step step) throws Exception {
    rethrow();
    waiting.add(step);
  }

  private void rethrow() throws Exception {
    if (problem != null) {
      throw problem;
    }
  }

  private interface Step {
    void run() throws Exception;
  }
}
