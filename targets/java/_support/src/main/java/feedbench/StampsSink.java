package feedbench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The sink {@code stamps}: one write to the kernel for each message. */
final class StampsSink implements Sink {
  private static final int VERSION = 1;
  private static final int HEADER_BYTES = 16;
  private static final int RECORD_BYTES = 24;
  private static final int TEXT = 1;
  private static final int BINARY = 2;
  private static final int CONNECTED = 3;
  private static final int END = 4;
  private static final int ANSWER = 5; // a poller's

  private final FileChannel file;
  private ByteBuffer record =
      buffer(1 << 16); // used again and again; direct, so that nothing copies it

  StampsSink(Path path) throws IOException {
    file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    if (file.size() == 0) {
      ByteBuffer header = buffer(HEADER_BYTES);
      header.put("FBSTAMPS".getBytes(StandardCharsets.US_ASCII)).putInt(VERSION).putInt(0).flip();
      write(header);
    }
  }

  @Override
  public void connected(Moment at) throws IOException {
    write(at, CONNECTED, ByteBuffer.allocate(0));
  }

  @Override
  public void text(Moment at, String message) throws IOException {
    write(at, TEXT, StandardCharsets.UTF_8.encode(message));
  }

  @Override
  public void binary(Moment at, ByteBuffer message) throws IOException {
    write(at, BINARY, message);
  }

  void answer(Moment at, ByteBuffer payload) throws IOException {
    write(at, ANSWER, payload);
  }

  @Override
  public void end(Moment at, String reason) throws IOException {
    write(at, END, StandardCharsets.UTF_8.encode(reason));
  }

  private void write(Moment at, int kind, ByteBuffer payload) throws IOException {
    int bytes = RECORD_BYTES + payload.remaining();
    if (record.capacity() < bytes) {
      record = buffer(2 * bytes);
    }
    record.clear().putLong(at.monotonicNs()).putLong(at.unixMs()).putInt(payload.remaining());
    record.putInt(kind).put(payload).flip(); // the kind is one byte, and three of zero
    write(record);
  }

  private void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      file.write(bytes);
    }
  }

  private static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
