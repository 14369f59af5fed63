// Feed client with libwebsockets: its own loop on one thread, callbacks as in the library's minimal clients.
#include <libwebsockets.h>
#include <signal.h>
#include <string.h>

#include "feed.h"
#include "message.h"

enum { LONGEST_CLOSE_REASON = 123 };  // a control frame has 125 bytes, two of them the code

static struct feed_settings settings;
static struct lws_context* context;
static struct lws* connection;
static volatile sig_atomic_t signalled;
static lws_sorted_usec_list_t exit_file_timer, closing_timer;

static struct message incoming;
static const char* next_subscription;
static struct {
  int code;
  char reason[LONGEST_CLOSE_REASON];
  size_t length;
} peer_close;

static void give_up_closing(lws_sorted_usec_list_t* timer) {
  (void)timer;
  feed_lost("the exchange did not answer the close frame");
}

static void end(void) {
  if (feed_is_ending()) return;
  feed_ask_to_end();
  lws_sul_schedule(context, 0, &closing_timer, give_up_closing, CLOSING_AT_MOST_MS * LWS_US_PER_MS);
  lws_callback_on_writable(connection);
}

static void look_for_exit_file(lws_sorted_usec_list_t* timer) {
  if (feed_exit_file_is_there()) end();
  lws_sul_schedule(context, 0, timer, look_for_exit_file, EXIT_FILE_EVERY_MS * LWS_US_PER_MS);
}

// One message each time: lws says when the next may follow.
static int subscribe(struct lws* wsi) {
  size_t length = strcspn(next_subscription, "\n");
  struct message message = {0};
  if (!message_append(&message, next_subscription, length)) return -1;
  next_subscription += length + (next_subscription[length] == '\n');
  int written = lws_write(wsi, message.memory + LWS_PRE, length, LWS_WRITE_TEXT);
  message_destroy(&message);
  if (*next_subscription != '\0') lws_callback_on_writable(wsi);
  return written < (int)length ? -1 : 0;
}

static int write_what_waits(struct lws* wsi) {
  if (*next_subscription != '\0') return subscribe(wsi);
  if (!feed_is_ending()) return 0;
  lws_close_reason(wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
  return -1;  // lws sends the close frame, and waits for the answer
}

// A piece of a message: of each frame lws hands out what fits into its buffer of 4 KiB.
static int receive(struct lws* wsi, const void* piece, size_t length) {
  struct moment at = feed_now();
  bool is_whole = lws_is_final_fragment(wsi);
  enum feed_kind kind = lws_frame_is_binary(wsi) ? FEED_BINARY : FEED_TEXT;
  if (is_whole && incoming.length == 0) {
    feed_message(at, kind, piece, length);
    return 0;
  }
  if (!message_append(&incoming, piece, length)) return -1;
  if (!is_whole) return 0;
  feed_message(at, kind, incoming.memory + LWS_PRE, incoming.length);
  message_destroy(&incoming);
  return 0;
}

static void note_close(const unsigned char* payload, size_t length) {
  peer_close.code = length < 2 ? LWS_CLOSE_STATUS_NO_STATUS : payload[0] << 8 | payload[1];
  if (length <= 2) return;
  peer_close.length = length - 2 < sizeof peer_close.reason ? length - 2 : sizeof peer_close.reason;
  memcpy(peer_close.reason, payload + 2, peer_close.length);
}

static _Noreturn void end_as_told(void) {
  if (peer_close.code == 0) feed_lost("no close frame");
  feed_closed(peer_close.code, peer_close.reason, peer_close.length);
}

static int follow(struct lws* wsi, enum lws_callback_reasons reason, void* user, void* in, size_t length) {
  switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
      feed_connected();
      lws_callback_on_writable(wsi);
      return 0;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
      feed_cannot_connect(in == NULL ? "no reason was given" : in);
    case LWS_CALLBACK_CLIENT_RECEIVE:
      return receive(wsi, in, length);
    case LWS_CALLBACK_CLIENT_WRITEABLE:
      return write_what_waits(wsi);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
      note_close(in, length);
      return 0;
    case LWS_CALLBACK_CLIENT_CLOSED:
      end_as_told();
    default:
      return lws_callback_http_dummy(wsi, reason, user, in, length);
  }
}

static const struct lws_protocols protocols[] = {{.name = "feedbench", .callback = follow}, {.name = NULL}};

static void stop(int signal) {
  (void)signal;
  signalled = 1;
  lws_cancel_service(context);
}

static void start(void) {
  struct lws_context_creation_info info = {
      .port = CONTEXT_PORT_NO_LISTEN,
      .protocols = protocols,
      .gid = -1,
      .uid = -1,
      .options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
      .client_ssl_ca_filepath = settings.authority,
  };
  context = lws_create_context(&info);
  if (context == NULL) feed_end(FEED_FAILED, "libwebsockets did not start; can FEEDBENCH_CA_FILE be read?");
  struct lws_client_connect_info wanted = {
      .context = context,
      .address = settings.host,
      .host = settings.host,
      .port = settings.port,
      .path = settings.stream,
      .ssl_connection = settings.tls ? LCCSCF_USE_SSL : 0,
      .local_protocol_name = protocols[0].name,
      .pwsi = &connection,
  };
  if (lws_client_connect_via_info(&wanted) == NULL) feed_cannot_connect("it was refused at once");
}

int main(int argc, char** argv) {
  settings = feed_settings_read(argc, argv, "c/libwebsockets");
  feed_open(&settings);
  next_subscription = settings.subscribe;
  lws_set_log_level(0, NULL);
  start();
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  if (settings.exit_file != NULL) look_for_exit_file(&exit_file_timer);
  while (lws_service(context, 0) >= 0) {
    if (signalled) end();
  }
  feed_lost("libwebsockets' loop has ended");
}
