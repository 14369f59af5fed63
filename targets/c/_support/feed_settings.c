#include "feed_settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_PORT = 65535 };
static const char PLAIN[] = "ws://";

_Noreturn void feed_end(int status, const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  line[strcspn(line, "\r\n")] = '\0';
  if (line[0] != '\0') fprintf(stderr, "%s\n", line);
  fflush(stdout);
  _exit(status);
}

static const char* variable(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value == NULL || *value == '\0' ? otherwise : value;
}

// The position of the variable's value among those allowed, which a NULL ends; 0 when it is unset.
static int knob(const char* name, const char* const allowed[]) {
  const char* value = variable(name, allowed[0]);
  for (int at = 0; allowed[at] != NULL; at++) {
    if (strcmp(value, allowed[at]) == 0) return at;
  }
  feed_end(FEED_UNSUPPORTED, "%s=%s: this client can't do that", name, value);
}

static bool is_number(const char* text, int64_t largest, int64_t* number) {
  char* rest;
  errno = 0;
  *number = strtoll(text, &rest, 10);
  return errno == 0 && *text >= '0' && *text <= '9' && *rest == '\0' && *number <= largest;
}

static void read_arguments(int argc, char** argv, struct feed_settings* settings) {
  if (argc != 5) feed_end(FEED_WRONG_USAGE, "usage: client EXCHANGE DOMAIN PORT STREAM");
  settings->exchange = argv[1];
  settings->tls = strncmp(argv[2], PLAIN, strlen(PLAIN)) != 0;
  settings->host = settings->tls ? argv[2] : argv[2] + strlen(PLAIN);
  settings->stream = argv[4];
  int64_t port;
  if (!is_number(argv[3], LARGEST_PORT, &port)) {
    feed_end(FEED_WRONG_USAGE, "the port is %s: say a number up to %d", argv[3], LARGEST_PORT);
  }
  settings->port = (int)port;
}

struct feed_settings feed_settings_read(int argc, char** argv, const char* target) {
  static const char* const SINKS[] = {"stamps", "sqlite", "sqlite_behind", "none", NULL};
  static const char* const OFF_ON[] = {"off", "on", NULL};
  static const char* const FALSE_TRUE[] = {"false", "true", NULL};
  static const char* const AFTER[] = {"after", NULL};               // there is no receive call to stamp before
  static const char* const NO_DEFLATE[] = {"default", "off", NULL};  // no library here is asked for it
  struct feed_settings settings = {.target = target};
  read_arguments(argc, argv, &settings);
  settings.authority = variable("FEEDBENCH_CA_FILE", NULL);
  settings.subscribe = variable("FEEDBENCH_SUBSCRIBE", "");
  settings.sink = (enum sink_kind)knob("FEEDBENCH_SINK", SINKS);
  settings.output = variable("FEEDBENCH_OUTPUT", NULL);
  settings.exit_file = variable("FEEDBENCH_EXIT_FILE", NULL);
  settings.parse = knob("FEEDBENCH_PARSE", OFF_ON) == 1;
  settings.log_messages = knob("FEEDBENCH_LOG_MESSAGES", FALSE_TRUE) == 1;
  knob("FEEDBENCH_STAMP", AFTER);
  knob("FEEDBENCH_DEFLATE", NO_DEFLATE);
  const char* delay = variable("FEEDBENCH_DELAY_NS", "0");
  if (!is_number(delay, INT64_MAX, &settings.delay_ns)) {
    feed_end(FEED_UNSUPPORTED, "FEEDBENCH_DELAY_NS=%s: say a whole number", delay);
  }
  if (settings.output == NULL && settings.sink != SINK_NONE) {
    feed_end(FEED_WRONG_USAGE, "FEEDBENCH_OUTPUT names no file for what is received");
  }
  return settings;
}
