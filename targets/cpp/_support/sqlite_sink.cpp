// The sinks `sqlite`, where each message is a row before the next is handed over, and `sqlite_behind`, where a thread
// of its own inserts.
#include <sqlite3.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sink.hpp"

namespace support {
namespace {

constexpr char schema[] = R"(
PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS test_details (test_id INTEGER PRIMARY KEY, vps_id TEXT, connector_id TEXT, exchange_id TEXT,
                                         stream_id TEXT, stream_args TEXT, datetime_start INTEGER);
CREATE TABLE IF NOT EXISTS events (event_id INTEGER PRIMARY KEY, datetime_received INTEGER, event TEXT, received_ns INTEGER);
)";

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

class Sqlite : public Sink {
 public:
  explicit Sqlite(const FeedSettings& settings) {
    check(sqlite3_open(settings.output.c_str(), &database_));
    check(sqlite3_exec(database_, schema, nullptr, nullptr, nullptr));
    start(settings);
    insert_ = prepare("INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)");
  }

  void message(Moment at, Kind kind, std::string_view payload) override {
    sqlite3_bind_int64(insert_, 1, static_cast<sqlite3_int64>(at.unix_ms));
    if (kind == Kind::text) {
      sqlite3_bind_text(insert_, 2, payload.data(), static_cast<int>(payload.size()), SQLITE_STATIC);
    } else {
      sqlite3_bind_blob(insert_, 2, payload.data(), static_cast<int>(payload.size()), SQLITE_STATIC);
    }
    sqlite3_bind_int64(insert_, 3, static_cast<sqlite3_int64>(at.monotonic_ns));
    step(insert_);
  }

  void end(Moment, std::string_view) override {
    sqlite3_finalize(insert_);
    check(sqlite3_close(database_));
  }

 private:
  void start(const FeedSettings& settings) {
    const std::vector<std::string> details = {host_name(), settings.target, settings.exchange, settings.stream,
                                              settings.subscribe};
    sqlite3_stmt* statement = prepare(
        "INSERT INTO test_details (vps_id, connector_id, exchange_id, stream_id, stream_args, datetime_start)"
        " VALUES (?, ?, ?, ?, ?, ?)");
    int column = 1;
    for (const auto& detail : details) {
      sqlite3_bind_text(statement, column++, detail.data(), static_cast<int>(detail.size()), SQLITE_STATIC);
    }
    sqlite3_bind_int64(statement, column, static_cast<sqlite3_int64>(moment_after(0).unix_ms));
    step(statement);
    sqlite3_finalize(statement);
  }

  sqlite3_stmt* prepare(const char* text) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(database_, text, -1, &statement, nullptr));
    return statement;
  }

  void step(sqlite3_stmt* statement) {
    sqlite3_step(statement);
    check(sqlite3_reset(statement));  // says what went wrong in the step
  }

  void check(int result) {
    if (result != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(database_));
  }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

class SqliteBehind : public Sink {
 public:
  explicit SqliteBehind(const FeedSettings& settings) : inserter_(settings), thread_([this] { insert(); }) {}

  void message(Moment at, Kind kind, std::string_view payload) override {
    put({at, kind, std::string(payload), false});
  }

  void end(Moment at, std::string_view) override {
    put({at, Kind::text, {}, true});
    thread_.join();
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  struct Received {
    Moment at;
    Kind kind;
    std::string payload;
    bool is_end;
  };

  void put(Received received) {
    const std::lock_guard lock(mutex_);
    if (problem_ && !received.is_end) std::rethrow_exception(problem_);
    waiting_.push_back(std::move(received));
    something_waits_.notify_one();
  }

  Received take() {
    std::unique_lock lock(mutex_);
    something_waits_.wait(lock, [this] { return !waiting_.empty(); });
    Received received = std::move(waiting_.front());
    waiting_.pop_front();
    return received;
  }

  void insert() {
    try {
      for (Received next = take(); !next.is_end; next = take()) inserter_.message(next.at, next.kind, next.payload);
      inserter_.end({}, {});
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      problem_ = std::current_exception();
    }
  }

  Sqlite inserter_;
  std::mutex mutex_;
  std::condition_variable something_waits_;
  std::deque<Received> waiting_;
  std::exception_ptr problem_;
  std::thread thread_;  // last, since it uses the rest
};

}  // namespace

std::unique_ptr<Sink> open_sqlite(const FeedSettings& settings) { return std::make_unique<Sqlite>(settings); }

std::unique_ptr<Sink> open_sqlite_behind(const FeedSettings& settings) {
  return std::make_unique<SqliteBehind>(settings);
}

}  // namespace support
