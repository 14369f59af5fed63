package feedbench;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/** The sink {@code sqlite}: each message is a row before the next one is handed over. */
final class SqliteSink implements Sink {
  private static final String[] SCHEMA = {
    "PRAGMA synchronous=OFF",
    "PRAGMA journal_mode=WAL",
    "CREATE TABLE IF NOT EXISTS test_details (test_id INTEGER PRIMARY KEY, vps_id TEXT,"
        + " connector_id TEXT, exchange_id TEXT, stream_id TEXT, stream_args TEXT,"
        + " datetime_start INTEGER)",
    "CREATE TABLE IF NOT EXISTS events (event_id INTEGER PRIMARY KEY, datetime_received INTEGER,"
        + " event TEXT, received_ns INTEGER)"
  };

  private final Connection database;
  private final PreparedStatement insert;

  SqliteSink(FeedSettings settings) throws IOException, SQLException {
    database = DriverManager.getConnection("jdbc:sqlite:" + settings.output());
    try (Statement statement = database.createStatement()) {
      for (String step : SCHEMA) {
        statement.execute(step);
      }
    }
    start(settings);
    insert =
        database.prepareStatement(
            "INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)");
  }

  private void start(FeedSettings settings) throws IOException, SQLException {
    try (PreparedStatement start =
        database.prepareStatement(
            "INSERT INTO test_details (vps_id, connector_id, exchange_id, stream_id, stream_args,"
                + " datetime_start) VALUES (?, ?, ?, ?, ?, ?)")) {
      start.setString(1, InetAddress.getLocalHost().getHostName());
      start.setString(2, settings.target());
      start.setString(3, settings.exchange());
      start.setString(4, settings.stream());
      start.setString(5, settings.subscribe());
      start.setLong(6, System.currentTimeMillis());
      start.executeUpdate();
    }
  }

  @Override
  public void text(Moment at, String message) throws SQLException {
    insert.setString(2, message);
    insert(at);
  }

  @Override
  public void binary(Moment at, ByteBuffer message) throws SQLException {
    byte[] bytes = new byte[message.remaining()];
    message.get(bytes);
    insert.setBytes(2, bytes);
    insert(at);
  }

  private void insert(Moment at) throws SQLException {
    insert.setLong(1, at.unixMs());
    insert.setLong(3, at.monotonicNs());
    insert.executeUpdate();
  }

  @Override
  public void end(Moment at, String reason) throws SQLException {
    database.close();
  }
}
