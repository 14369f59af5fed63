// Echo and stamp servers with libsoup 3 on GLib's main loop.
#include <glib-unix.h>
#include <libsoup/soup.h>
#include <stdlib.h>
#include <string.h>

#include "bound_socket.h"
#include "options.h"
#include "stamp.h"

enum { LARGEST_MESSAGE = 64 << 20 };  // the library's default of 128 KiB is less than what is measured

static struct options options;

static void send_stamp(SoupWebsocketConnection* connection, int64_t count) {
  char answer[STAMP_LARGEST];
  GBytes* bytes = g_bytes_new(answer, stamp_write(count, answer));
  soup_websocket_connection_send_message(connection, SOUP_WEBSOCKET_DATA_TEXT, bytes);
  g_bytes_unref(bytes);
}

static void echo(SoupWebsocketConnection* connection, SoupWebsocketDataType type, GBytes* message) {
  before_answer(&options, g_bytes_get_data(message, NULL), g_bytes_get_size(message));
  soup_websocket_connection_send_message(connection, type, message);
}

static void stamp(SoupWebsocketConnection* connection, SoupWebsocketDataType type, GBytes* message) {
  (void)type;
  int64_t count;
  gsize length;
  const void* bytes = g_bytes_get_data(message, &length);
  before_answer(&options, bytes, length);
  if (stamp_parse(bytes, length, &count)) {
    send_stamp(connection, count);
  } else {
    soup_websocket_connection_close(connection, SOUP_WEBSOCKET_CLOSE_UNSUPPORTED_DATA, NULL);
  }
}

// libsoup gives its reference back when this returns; ours lasts until the connection has closed.
static void keep(SoupWebsocketConnection* connection, GCallback on_message) {
  g_object_ref(connection);
  soup_websocket_connection_set_max_incoming_payload_size(connection, LARGEST_MESSAGE);
  g_signal_connect(connection, "message", on_message, NULL);
  g_signal_connect(connection, "closed", G_CALLBACK(g_object_unref), NULL);
}

static void open_echo(SoupServer* server, SoupServerMessage* request, const char* path,
                      SoupWebsocketConnection* connection, gpointer data) {
  (void)server, (void)request, (void)path, (void)data;
  keep(connection, G_CALLBACK(echo));
}

static void open_stamp(SoupServer* server, SoupServerMessage* request, const char* path,
                       SoupWebsocketConnection* connection, gpointer data) {
  (void)server, (void)request, (void)path, (void)data;
  keep(connection, G_CALLBACK(stamp));
  send_stamp(connection, 0);
}

// A handler also gets what only begins with its path: "/echo/more".
static void refuse_longer_path(SoupServer* server, SoupServerMessage* request, const char* path, GHashTable* query,
                               gpointer wanted) {
  (void)server, (void)query;
  if (strcmp(path, wanted) != 0) soup_server_message_set_status(request, SOUP_STATUS_NOT_FOUND, NULL);
}

static gboolean stop(gpointer loop) {
  g_main_loop_quit(loop);
  return G_SOURCE_CONTINUE;
}

static SoupServer* make_server(void) {
  GError* error = NULL;
  GTlsCertificate* certificate = NULL;
  if (options.tls) {
    certificate = g_tls_certificate_new_from_files(options.certificate, options.key, &error);
    if (certificate == NULL) {
      g_printerr("cannot use FEEDBENCH_TLS_CERTIFICATE with FEEDBENCH_TLS_KEY: %s\n", error->message);
      exit(EXIT_FAILURE);
    }
  }
  SoupServer* server = soup_server_new("tls-certificate", certificate, NULL);
  if (!options.deflate) soup_server_remove_websocket_extension(server, SOUP_TYPE_WEBSOCKET_EXTENSION_DEFLATE);
  soup_server_add_early_handler(server, "/echo", refuse_longer_path, "/echo", NULL);
  soup_server_add_early_handler(server, "/stamp", refuse_longer_path, "/stamp", NULL);
  soup_server_add_websocket_handler(server, "/echo", NULL, NULL, open_echo, NULL, NULL);
  soup_server_add_websocket_handler(server, "/stamp", NULL, NULL, open_stamp, NULL, NULL);
  return server;
}

// Our own socket instead of soup_server_listen's: only there can TCP_NODELAY and SO_REUSEPORT be asked for.
static void listen_on(SoupServer* server) {
  GError* error = NULL;
  GSocket* socket = g_socket_new_from_fd(bound_socket(&options), &error);
  if (socket == NULL || !g_socket_listen(socket, &error) ||
      !soup_server_listen_socket(server, socket, options.tls ? SOUP_SERVER_LISTEN_HTTPS : 0, &error)) {
    g_printerr("cannot listen on %s:%d: %s\n", options.host, options.port, error->message);
    exit(EXIT_FAILURE);
  }
}

int main(int argc, char** argv) {
  char version[32];
  g_snprintf(version, sizeof version, "%u.%u.%u", soup_get_major_version(), soup_get_minor_version(),
             soup_get_micro_version());
  const struct abilities abilities = {
      .version = version,
      .deflate = true,
      .deflate_by_default = true,
      .reuse_port = true,
      .tls = true,
  };
  options = options_read(argc, argv, &abilities);
  SoupServer* server = make_server();
  listen_on(server);
  GMainLoop* loop = g_main_loop_new(NULL, FALSE);
  g_unix_signal_add(SIGTERM, stop, loop);
  g_unix_signal_add(SIGINT, stop, loop);
  g_main_loop_run(loop);
  return EXIT_SUCCESS;
}
