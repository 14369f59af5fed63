#include "feed.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const struct feed_settings* settings;
static bool is_connected;
static bool is_ending;

static uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Now, or after spinning for so long: the control, whose messages are late by a known time.
static struct moment moment_after(int64_t delay_ns) {
  uint64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  for (uint64_t until_ns = monotonic_ns + (uint64_t)delay_ns; monotonic_ns < until_ns;) {
    monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  }
  return (struct moment){monotonic_ns, clock_ns(CLOCK_REALTIME) / 1000000};
}

static void record(struct moment at, enum feed_kind kind, const void* payload, size_t length) {
  switch (settings->sink) {
    case SINK_STAMPS:
      stamps_write(at, kind, payload, length);
      break;
    case SINK_SQLITE:
    case SINK_SQLITE_BEHIND:
      sqlite_write(at, kind, payload, length);
      break;
    case SINK_NONE:
      break;
  }
}

static _Noreturn void finish(const char* reason, size_t length) {
  if (is_ending) length = 0;
  record(moment_after(0), FEED_END, reason, length);
  feed_end(length == 0 ? 0 : FEED_FAILED, "%.*s", (int)length, reason);
}

void feed_open(const struct feed_settings* wanted) {
  settings = wanted;
  if (settings->sink == SINK_STAMPS) stamps_open(settings);
  if (settings->sink == SINK_SQLITE) sqlite_open(settings, false);
  if (settings->sink == SINK_SQLITE_BEHIND) sqlite_open(settings, true);
}

void feed_connected(void) {
  is_connected = true;
  record(moment_after(0), FEED_CONNECTED, NULL, 0);
}

struct moment feed_now(void) { return moment_after(settings->delay_ns); }

void feed_message(struct moment at, enum feed_kind kind, const void* payload, size_t length) {
  record(at, kind, payload, length);
  if (settings->parse && kind == FEED_TEXT) {
    json_decref(json_loadb(payload, length, JSON_DECODE_ANY, NULL));  // NULL for what is no JSON
  }
  if (settings->log_messages) {
    fwrite(payload, 1, length, stdout);
    fputc('\n', stdout);
    fflush(stdout);
  }
}

bool feed_exit_file_is_there(void) {
  return settings->exit_file != NULL && access(settings->exit_file, F_OK) == 0;
}

void feed_ask_to_end(void) {
  if (!is_connected) feed_end(0, "%s", "");
  is_ending = true;
}

bool feed_is_ending(void) { return is_ending; }

void feed_closed(int code, const char* reason, size_t length) {
  char told[160];
  int written = snprintf(told, sizeof told, "closed: %d%s%.*s", code, length > 0 ? " " : "", (int)length, reason);
  finish(told, (size_t)written);
}

void feed_lost(const char* reason) {
  char told[160];
  int written = snprintf(told, sizeof told, "lost: %.140s", reason);
  finish(told, (size_t)written);
}

void feed_cannot_connect(const char* reason) {
  feed_end(FEED_FAILED, "cannot connect to %s:%d%s: %s", settings->host, settings->port, settings->stream, reason);
}
