// Echo and stamp servers with libwebsockets: its own loop on one thread; messages are queued in an lws_ring and written
// from the WRITEABLE callback, as in the library's minimal echo server.
#include <libwebsockets.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "options.h"
#include "stamp.h"

enum {
  QUEUE_LENGTH = 32,       // answers that wait on one connection
  QUEUE_KEPT_FREE = 5,     // receiving pauses below; what lws has already taken from the socket still comes
  QUEUE_RESUME_FREE = 16,  // and goes on above
  LARGEST_MESSAGE = 64 << 20,
};

enum service { SERVICE_NONE, SERVICE_ECHO, SERVICE_STAMP };

struct session {
  enum service service;
  struct message incoming;
  struct lws_ring* answers;
  bool paused;
};

static struct options options;
static struct lws_context* context;
static volatile sig_atomic_t stopped;

static enum service service_of(struct lws* wsi) {
  char path[32];
  if (lws_hdr_copy(wsi, path, sizeof path, WSI_TOKEN_GET_URI) <= 0) return SERVICE_NONE;
  if (strcmp(path, "/echo") == 0) return SERVICE_ECHO;
  if (strcmp(path, "/stamp") == 0) return SERVICE_STAMP;
  return SERVICE_NONE;
}

static int enqueue(struct lws* wsi, struct session* session, struct message message) {
  if (lws_ring_insert(session->answers, &message, 1) != 1) {
    message_destroy(&message);
    return -1;
  }
  if (!session->paused && lws_ring_get_count_free_elements(session->answers) < QUEUE_KEPT_FREE) {
    session->paused = true;
    lws_rx_flow_control(wsi, 0);
  }
  lws_callback_on_writable(wsi);
  return 0;
}

static int enqueue_stamp(struct lws* wsi, struct session* session, int64_t count) {
  char text[STAMP_LARGEST];
  struct message answer = {.protocol = LWS_WRITE_TEXT};
  if (!message_append(&answer, text, stamp_write(count, text))) return -1;
  return enqueue(wsi, session, answer);
}

static int open_session(struct lws* wsi, struct session* session) {
  session->service = service_of(wsi);
  session->answers = lws_ring_create(sizeof(struct message), QUEUE_LENGTH, NULL);
  if (session->answers == NULL) return -1;
  return session->service == SERVICE_STAMP ? enqueue_stamp(wsi, session, 0) : 0;
}

static int answer_stamp(struct lws* wsi, struct session* session, struct message* request) {
  int64_t count;
  bool understood = stamp_parse(request->memory + LWS_PRE, request->length, &count);
  message_destroy(request);
  if (understood) return enqueue_stamp(wsi, session, count);
  lws_close_reason(wsi, LWS_CLOSE_STATUS_UNACCEPTABLE_OPCODE, NULL, 0);
  return -1;
}

// A piece of a message: of each frame lws hands out what fits into its buffer of 4 KiB.
static int receive(struct lws* wsi, struct session* session, const void* piece, size_t length) {
  struct message* incoming = &session->incoming;
  if (incoming->length + length > LARGEST_MESSAGE) {
    lws_close_reason(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
    return -1;
  }
  if (!message_append(incoming, piece, length)) return -1;
  if (!lws_is_final_fragment(wsi)) return 0;

  struct message whole = *incoming;
  *incoming = (struct message){0};
  before_answer(&options, whole.memory + LWS_PRE, whole.length);
  whole.protocol = lws_frame_is_binary(wsi) ? LWS_WRITE_BINARY : LWS_WRITE_TEXT;
  return session->service == SERVICE_STAMP ? answer_stamp(wsi, session, &whole) : enqueue(wsi, session, whole);
}

// One message each time: lws says when the next may follow.
static int write_one(struct lws* wsi, struct session* session) {
  struct message message;
  if (lws_ring_consume(session->answers, NULL, &message, 1) == 0) return 0;
  int length = (int)message.length;
  bool written = lws_write(wsi, message.memory + LWS_PRE, message.length, message.protocol) >= length;
  message_destroy(&message);
  if (!written) return -1;

  if (lws_ring_get_element(session->answers, NULL) != NULL) lws_callback_on_writable(wsi);
  if (session->paused && lws_ring_get_count_free_elements(session->answers) > QUEUE_RESUME_FREE) {
    session->paused = false;
    lws_rx_flow_control(wsi, 1);
  }
  return 0;
}

static void close_session(struct session* session) {
  message_destroy(&session->incoming);
  if (session->answers == NULL) return;
  struct message unsent;
  while (lws_ring_consume(session->answers, NULL, &unsent, 1) == 1) message_destroy(&unsent);
  lws_ring_destroy(session->answers);
}

static int serve(struct lws* wsi, enum lws_callback_reasons reason, void* user, void* in, size_t length) {
  switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
      if (service_of(wsi) != SERVICE_NONE) return 0;
      lws_return_http_status(wsi, HTTP_STATUS_NOT_FOUND, NULL);
      return -1;
    case LWS_CALLBACK_ESTABLISHED:
      return open_session(wsi, user);
    case LWS_CALLBACK_RECEIVE:
      return receive(wsi, user, in, length);
    case LWS_CALLBACK_SERVER_WRITEABLE:
      return write_one(wsi, user);
    case LWS_CALLBACK_CLOSED:
      close_session(user);
      return 0;
    default:
      return lws_callback_http_dummy(wsi, reason, user, in, length);
  }
}

static const struct lws_protocols protocols[] = {
    {.name = "feedbench", .callback = serve, .per_session_data_size = sizeof(struct session)}, {.name = NULL}};

static void stop(int signal) {
  (void)signal;
  stopped = 1;
  lws_cancel_service(context);
}

static struct lws_context* listen_on(const struct options* options) {
  struct lws_context_creation_info info = {
      .iface = options->host,
      .port = options->port,
      .protocols = protocols,
      .gid = -1,
      .uid = -1,
  };
  // Otherwise an IPv4 address is bound as [::], which is every interface.
  if (strchr(options->host, ':') == NULL) info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
  if (options->tls) {
    info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    info.ssl_cert_filepath = options->certificate;
    info.ssl_private_key_filepath = options->key;
  }
  return lws_create_context(&info);
}

int main(int argc, char** argv) {
  static const struct abilities abilities = {
      .version = VERSION_TEXT(LWS_LIBRARY_VERSION_MAJOR, LWS_LIBRARY_VERSION_MINOR, LWS_LIBRARY_VERSION_PATCH),
      .tls = true};
  options = options_read(argc, argv, &abilities);
  lws_set_log_level(LLL_ERR, NULL);
  context = listen_on(&options);
  if (context == NULL) {
    fprintf(stderr, "cannot listen on %s:%d: the address is in use, or not this machine's\n", options.host, options.port);
    return EXIT_FAILURE;
  }
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  while (!stopped && lws_service(context, 0) >= 0) {
  }
  lws_context_destroy(context);
  return stopped ? EXIT_SUCCESS : EXIT_FAILURE;
}
