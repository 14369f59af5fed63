// What a feed client's command line and environment say (spec/feed.md).
#ifndef SUPPORT_FEED_SETTINGS_H
#define SUPPORT_FEED_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { FEED_FAILED = 1, FEED_WRONG_USAGE = 2, FEED_UNSUPPORTED = 127 };

enum sink_kind { SINK_STAMPS, SINK_SQLITE, SINK_SQLITE_BEHIND, SINK_NONE };

struct feed_settings {
  const char* target;
  const char* exchange;
  const char* host;
  int port;
  const char* stream;
  bool tls;
  const char* authority;  // PEM file; NULL: the system's authorities
  const char* subscribe;  // messages to send once the connection is open, one a line; "" for none
  enum sink_kind sink;
  const char* output;
  const char* exit_file;  // NULL: none
  int64_t delay_ns;
  bool parse;
  bool log_messages;
};

// Ends the process with a line on stderr when something makes no sense.
struct feed_settings feed_settings_read(int argc, char** argv, const char* target);

// A line on stderr, if there is one, and the end of the process whatever its other threads do.
_Noreturn void feed_end(int status, const char* format, ...) __attribute__((format(printf, 2, 3)));

#endif
