#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wslay/wslay.h>

#include "buffer.h"
#include "handshake.h"
#include "stamp.h"

enum { LARGEST_MESSAGE = 64 << 20 };

struct connection {
  const struct options* options;
  int epoll_fd;
  int fd;
  wslay_event_context_ptr wslay;  // NULL until the handshake is done
  enum service service;
  struct buffer received;  // the request so far, then what came behind it
  bool writes;             // epoll tells when there is room for more
  bool hung_up;            // the peer has closed its side
};

static ssize_t receive(wslay_event_context_ptr wslay, uint8_t* bytes, size_t length, int flags, void* data) {
  (void)flags;
  struct connection* connection = data;
  if (connection->received.length > 0) {
    size_t taken = length < connection->received.length ? length : connection->received.length;
    for (size_t i = 0; i < taken; i++) bytes[i] = connection->received.bytes[i];
    buffer_consume(&connection->received, taken);
    return (ssize_t)taken;
  }
  ssize_t count;
  do count = recv(connection->fd, bytes, length, 0);
  while (count < 0 && errno == EINTR);
  if (count > 0) return count;
  bool later = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (!later) connection->hung_up = true;
  wslay_event_set_error(wslay, later ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
  return -1;
}

static ssize_t transmit(wslay_event_context_ptr wslay, const uint8_t* bytes, size_t length, int flags, void* data) {
  const struct connection* connection = data;
  int more = flags & WSLAY_MSG_MORE ? MSG_MORE : 0;
  ssize_t count;
  do count = send(connection->fd, bytes, length, MSG_NOSIGNAL | more);
  while (count < 0 && errno == EINTR);
  if (count >= 0) return count;
  bool later = errno == EAGAIN || errno == EWOULDBLOCK;
  wslay_event_set_error(wslay, later ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
  return -1;
}

static void queue_stamp(wslay_event_context_ptr wslay, int64_t count) {
  char text[STAMP_LARGEST];
  size_t length = stamp_write(count, text);
  wslay_event_queue_msg(wslay, &(struct wslay_event_msg){WSLAY_TEXT_FRAME, (const uint8_t*)text, length});
}

static void answer(wslay_event_context_ptr wslay, const struct wslay_event_on_msg_recv_arg* message, void* data) {
  const struct connection* connection = data;
  if (wslay_is_ctrl_frame(message->opcode)) return;  // wslay answers pings and closes
  before_answer(connection->options, message->msg, message->msg_length);
  int64_t count;
  if (connection->service == SERVICE_ECHO) {
    wslay_event_queue_msg(wslay, &(struct wslay_event_msg){message->opcode, message->msg, message->msg_length});
  } else if (stamp_parse(message->msg, message->msg_length, &count)) {
    queue_stamp(wslay, count);
  } else {
    wslay_event_queue_close(wslay, WSLAY_CODE_UNSUPPORTED_DATA, NULL, 0);
  }
}

static const struct wslay_event_callbacks callbacks = {
    .recv_callback = receive, .send_callback = transmit, .on_msg_recv_callback = answer};

struct connection* connection_open(const struct options* options, int epoll_fd, int fd) {
  struct connection* connection = calloc(1, sizeof *connection);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (connection == NULL || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
    free(connection);
    close(fd);
    return NULL;
  }
  connection->options = options;
  connection->epoll_fd = epoll_fd;
  connection->fd = fd;
  return connection;
}

void connection_close(struct connection* connection) {
  if (connection->wslay != NULL) wslay_event_context_free(connection->wslay);
  buffer_free(&connection->received);
  close(connection->fd);
  free(connection);
}

// The response fits into an empty socket buffer, so one send is enough.
static bool send_response(const struct connection* connection, struct buffer* response) {
  bool sent = send(connection->fd, response->bytes, response->length, MSG_NOSIGNAL) == (ssize_t)response->length;
  buffer_free(response);
  return sent;
}

static bool shake_hands(struct connection* connection) {
  struct buffer* received = &connection->received;
  uint8_t* free_bytes = buffer_reserve(received, HANDSHAKE_LARGEST_REQUEST);
  ssize_t count = recv(connection->fd, free_bytes, HANDSHAKE_LARGEST_REQUEST, 0);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (count == 0) return false;
  received->length += (size_t)count;

  struct handshake handshake;
  struct buffer response = {0};
  enum handshake_status status = handshake_answer(received->bytes, received->length, &handshake, &response);
  if (status == HANDSHAKE_NEEDS_MORE) return true;
  if (!send_response(connection, &response) || status == HANDSHAKE_REFUSED) return false;
  if (wslay_event_context_server_init(&connection->wslay, &callbacks, connection) != 0) return false;

  wslay_event_config_set_max_recv_msg_length(connection->wslay, LARGEST_MESSAGE);
  buffer_consume(received, handshake.request_length);
  connection->service = handshake.service;
  if (connection->service == SERVICE_STAMP) queue_stamp(connection->wslay, 0);
  return true;
}

// While answers wait for room nothing is received, so that a client which doesn't read can't fill our memory.
static bool watch(struct connection* connection) {
  bool writes = wslay_event_want_write(connection->wslay);
  if (writes == connection->writes) return true;
  connection->writes = writes;
  struct epoll_event event = {.events = writes ? EPOLLOUT : EPOLLIN, .data.ptr = connection};
  return epoll_ctl(connection->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event) == 0;
}

bool connection_ready(struct connection* connection, uint32_t events) {
  if (connection->wslay == NULL && !shake_hands(connection)) return false;
  if (connection->wslay == NULL) return true;
  wslay_event_context_ptr wslay = connection->wslay;
  bool receives = (events & ~(uint32_t)EPOLLOUT) != 0 && wslay_event_want_read(wslay);
  if (receives && wslay_event_recv(wslay) != 0) return false;
  if (wslay_event_send(wslay) != 0) return false;
  bool over = !wslay_event_want_read(wslay) && !wslay_event_want_write(wslay);
  return !over && !connection->hung_up && watch(connection);
}
