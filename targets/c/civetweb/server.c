// Echo and stamp servers with civetweb, which serves each connection on a thread of its pool.
#include <civetweb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "stamp.h"

enum {
  OPCODE_BITS = 0x0F,
  FINAL_BIT = 0x80,
  CLOSE_UNSUPPORTED_DATA = 1003,
  LARGEST_MESSAGE = 64 << 20,
};

#define CONNECTIONS "1024"  // each keeps one thread of the pool; more wait to be accepted

enum { END = 0, GO_ON = 1 };  // what a data handler returns

typedef int answer_function(struct mg_connection* connection, int opcode, const char* message, size_t length);

struct service {
  answer_function* answer;
  bool greets;
};

// A message that comes in several frames: civetweb hands out frames.
struct session {
  int opcode;
  char* bytes;
  size_t length;
};

static struct options options;

static int echo(struct mg_connection* connection, int opcode, const char* message, size_t length) {
  return mg_websocket_write(connection, opcode, message, length) > 0 ? GO_ON : END;
}

static int send_stamp(struct mg_connection* connection, int64_t count) {
  char answer[STAMP_LARGEST];
  return echo(connection, MG_WEBSOCKET_OPCODE_TEXT, answer, stamp_write(count, answer));
}

static int stamp(struct mg_connection* connection, int opcode, const char* message, size_t length) {
  (void)opcode;
  int64_t count;
  if (stamp_parse(message, length, &count)) return send_stamp(connection, count);
  const char code[2] = {CLOSE_UNSUPPORTED_DATA >> 8, CLOSE_UNSUPPORTED_DATA & 0xFF};
  mg_websocket_write(connection, MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE, code, sizeof code);
  return END;
}

static const struct service echo_service = {.answer = echo, .greets = false};
static const struct service stamp_service = {.answer = stamp, .greets = true};

static int connected(const struct mg_connection* connection, void* service) {
  (void)service;
  struct session* session = calloc(1, sizeof *session);
  mg_set_user_connection_data(connection, session);
  return session == NULL;  // anything but 0 refuses
}

static void ready(struct mg_connection* connection, void* data) {
  const struct service* service = data;
  if (service->greets) send_stamp(connection, 0);
}

static int whole_message(struct mg_connection* connection, const struct service* service, int opcode, const char* bytes,
                         size_t length) {
  before_answer(&options, bytes, length);
  return service->answer(connection, opcode, bytes, length);
}

static int fragment(struct mg_connection* connection, const struct service* service, struct session* session, int bits,
                    const char* bytes, size_t length) {
  int opcode = bits & OPCODE_BITS;
  bool starts = opcode != MG_WEBSOCKET_OPCODE_CONTINUATION;
  if (starts == (session->opcode != 0)) return END;  // a message inside a message, or a continuation of nothing
  if (session->length + length > LARGEST_MESSAGE) return END;
  if (starts) session->opcode = opcode;
  char* joined = realloc(session->bytes, session->length + length + 1);  // never 0 bytes
  if (joined == NULL) return END;
  memcpy(joined + session->length, bytes, length);
  session->bytes = joined;
  session->length += length;
  if (!(bits & FINAL_BIT)) return GO_ON;

  int going_on = whole_message(connection, service, session->opcode, session->bytes, session->length);
  session->opcode = 0;
  session->length = 0;
  return going_on;
}

static int received(struct mg_connection* connection, int bits, char* bytes, size_t length, void* data) {
  const struct service* service = data;
  struct session* session = mg_get_user_connection_data(connection);
  int opcode = bits & OPCODE_BITS;
  switch (opcode) {
    case MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE:
      mg_websocket_write(connection, opcode, bytes, length);
      return END;
    case MG_WEBSOCKET_OPCODE_PING:  // answered by the library
    case MG_WEBSOCKET_OPCODE_PONG:
      return GO_ON;
    case MG_WEBSOCKET_OPCODE_TEXT:
    case MG_WEBSOCKET_OPCODE_BINARY:
      if ((bits & FINAL_BIT) && session->opcode == 0) return whole_message(connection, service, opcode, bytes, length);
      return fragment(connection, service, session, bits, bytes, length);
    case MG_WEBSOCKET_OPCODE_CONTINUATION:
      return fragment(connection, service, session, bits, bytes, length);
    default:
      return END;
  }
}

static void closed(const struct mg_connection* connection, void* service) {
  (void)service;
  struct session* session = mg_get_user_connection_data(connection);
  free(session->bytes);
  free(session);
}

static int refuse(struct mg_connection* connection, void* data) {
  (void)data;
  mg_send_http_error(connection, 404, "%s", "only WebSocket is spoken here, at /echo and /stamp");
  return 404;
}

static int print_problem(const struct mg_connection* connection, const char* message) {
  (void)connection;
  fprintf(stderr, "civetweb: %s\n", message);
  return 1;
}

static struct mg_context* listen_on(void) {
  char address[128];
  snprintf(address, sizeof address, "%s:%d", options.host, options.port);
  const char* settings[] = {"listening_ports",
                            address,
                            "num_threads",
                            CONNECTIONS,
                            "tcp_nodelay",
                            "1",
                            "enable_websocket_ping_pong",
                            "yes",
                            NULL};
  struct mg_callbacks callbacks = {.log_message = print_problem};
  return mg_start(&callbacks, NULL, settings);
}

int main(int argc, char** argv) {
  static const struct abilities abilities = {.version = CIVETWEB_VERSION, .ipv4_only = true};  // as Debian builds it
  options = options_read(argc, argv, &abilities);

  // Blocked in every thread that mg_start makes, and waited for in this one.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, NULL);

  mg_init_library(0);
  struct mg_context* context = listen_on();
  if (context == NULL) {
    fprintf(stderr, "cannot listen on %s:%d: the address is in use, or not this machine's\n", options.host, options.port);
    return EXIT_FAILURE;
  }
  mg_set_request_handler(context, "**", refuse, NULL);
  mg_set_websocket_handler(context, "/echo$", connected, ready, received, closed, (void*)&echo_service);
  mg_set_websocket_handler(context, "/stamp$", connected, ready, received, closed, (void*)&stamp_service);

  int ended_by;
  sigwait(&ends, &ended_by);
  quick_exit(EXIT_SUCCESS);  // mg_stop would wait until every connection's thread looks up, which may take two seconds
}
