// The sinks `sqlite`, where each message is a row before the next is handed over, and `sqlite_behind`, where a thread
// of its own inserts.
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "feed_sink.h"

static const char SCHEMA[] =
    "PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;"
    "CREATE TABLE IF NOT EXISTS test_details (test_id INTEGER PRIMARY KEY, vps_id TEXT, connector_id TEXT,"
    " exchange_id TEXT, stream_id TEXT, stream_args TEXT, datetime_start INTEGER);"
    "CREATE TABLE IF NOT EXISTS events (event_id INTEGER PRIMARY KEY, datetime_received INTEGER, event TEXT,"
    " received_ns INTEGER);";

// A message on its way to the thread that inserts.
struct waiting {
  struct waiting* next;
  struct moment at;
  enum feed_kind kind;
  size_t length;
  char payload[];
};

static const char* path;
static sqlite3* database;
static sqlite3_stmt* insert;

static bool is_behind;
static pthread_t inserter;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t something_waits = PTHREAD_COND_INITIALIZER;
static struct waiting* first;
static struct waiting** last = &first;

static void check(int result) {
  if (result != SQLITE_OK) feed_end(FEED_FAILED, "cannot write %s: %s", path, sqlite3_errmsg(database));
}

static sqlite3_stmt* prepare(const char* text) {
  sqlite3_stmt* statement;
  check(sqlite3_prepare_v2(database, text, -1, &statement, NULL));
  return statement;
}

static void step(sqlite3_stmt* statement) {
  sqlite3_step(statement);
  check(sqlite3_reset(statement));  // says what went wrong in the step
}

static void note_start(const struct feed_settings* settings) {
  char host[256] = {0};
  gethostname(host, sizeof host - 1);
  const char* details[] = {host, settings->target, settings->exchange, settings->stream, settings->subscribe};
  sqlite3_stmt* statement = prepare(
      "INSERT INTO test_details (vps_id, connector_id, exchange_id, stream_id, stream_args, datetime_start)"
      " VALUES (?, ?, ?, ?, ?, ?)");
  enum { DETAILS = sizeof details / sizeof *details };
  for (int at = 0; at < DETAILS; at++) sqlite3_bind_text(statement, at + 1, details[at], -1, SQLITE_STATIC);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  sqlite3_bind_int64(statement, DETAILS + 1, (sqlite3_int64)now.tv_sec * 1000 + now.tv_nsec / 1000000);
  step(statement);
  sqlite3_finalize(statement);
}

static void insert_row(struct moment at, enum feed_kind kind, const void* payload, size_t length) {
  sqlite3_bind_int64(insert, 1, (sqlite3_int64)at.unix_ms);
  if (kind == FEED_TEXT) {
    sqlite3_bind_text(insert, 2, payload, (int)length, SQLITE_STATIC);
  } else {
    sqlite3_bind_blob(insert, 2, payload, (int)length, SQLITE_STATIC);
  }
  sqlite3_bind_int64(insert, 3, (sqlite3_int64)at.monotonic_ns);
  step(insert);
}

static void close_database(void) {
  sqlite3_finalize(insert);
  check(sqlite3_close(database));
}

static struct waiting* take(void) {
  pthread_mutex_lock(&mutex);
  while (first == NULL) pthread_cond_wait(&something_waits, &mutex);
  struct waiting* taken = first;
  first = taken->next;
  if (first == NULL) last = &first;
  pthread_mutex_unlock(&mutex);
  return taken;
}

static void* insert_behind(void* nothing) {
  for (;;) {
    struct waiting* next = take();
    if (next->kind == FEED_END) break;
    insert_row(next->at, next->kind, next->payload, next->length);
    free(next);
  }
  close_database();
  return nothing;
}

static void put(struct moment at, enum feed_kind kind, const void* payload, size_t length) {
  struct waiting* message = malloc(sizeof *message + length);
  if (message == NULL) feed_end(FEED_FAILED, "no memory for a message of %zu bytes", length);
  *message = (struct waiting){.at = at, .kind = kind, .length = length};
  if (length > 0) memcpy(message->payload, payload, length);
  pthread_mutex_lock(&mutex);
  *last = message;
  last = &message->next;
  pthread_cond_signal(&something_waits);
  pthread_mutex_unlock(&mutex);
}

void sqlite_open(const struct feed_settings* settings, bool behind) {
  path = settings->output;
  check(sqlite3_open(path, &database));
  check(sqlite3_exec(database, SCHEMA, NULL, NULL, NULL));
  note_start(settings);
  insert = prepare("INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)");
  is_behind = behind;
  if (behind && pthread_create(&inserter, NULL, insert_behind, NULL) != 0) {
    feed_end(FEED_FAILED, "cannot start the thread that inserts");
  }
}

void sqlite_write(struct moment at, enum feed_kind kind, const void* payload, size_t length) {
  if (kind == FEED_CONNECTED) return;
  if (is_behind) {
    put(at, kind, payload, length);
    if (kind == FEED_END) pthread_join(inserter, NULL);
  } else if (kind == FEED_END) {
    close_database();
  } else {
    insert_row(at, kind, payload, length);
  }
}
