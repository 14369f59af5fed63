#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "frame.h"
#include "stamp.h"

struct connection* connection_open(struct worker* worker, int fd) {
  struct connection* connection = calloc(1, sizeof *connection);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (connection == NULL || epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
    free(connection);
    close(fd);
    return NULL;
  }
  connection->fd = fd;
  return connection;
}

void connection_close(struct connection* connection) {
  close(connection->fd);
  buffer_free(&connection->pending);
  buffer_free(&connection->message);
  buffer_free(&connection->unsent);
  free(connection);
}

static void watch(struct connection* connection, struct worker* worker, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  epoll_ctl(worker->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
}

// Answers: each function appends to worker->answers.

static void answer(struct worker* worker, const struct frame* frame, enum opcode opcode, const uint8_t* payload) {
  struct buffer* out = &worker->answers;
  uint8_t* header = buffer_reserve(out, FRAME_LARGEST_SERVER_HEADER + frame->payload_length);
  size_t header_length = frame_write_header(header, frame->final, opcode, frame->payload_length);
  frame_unmask(header + header_length, payload, frame->payload_length, frame->mask);
  out->length += header_length + frame->payload_length;
}

// The same without the copy, for a frame that was too large for the shared bytes and therefore lies alone in `pending`:
// its mask is taken off where it lies, the shorter header goes before it, and `pending` becomes the answers.
static void answer_in_place(struct connection* connection, struct worker* worker, const struct frame* frame) {
  struct buffer* pending = &connection->pending;
  uint8_t header[FRAME_LARGEST_SERVER_HEADER];
  size_t header_length = frame_write_header(header, frame->final, frame->opcode, frame->payload_length);
  frame_unmask_in_place(pending->bytes + frame->header_length, frame->payload_length, frame->mask);
  worker->answers_start = frame->header_length - header_length;
  memcpy(pending->bytes + worker->answers_start, header, header_length);
  buffer_swap(pending, &worker->answers);
}

static void end(struct connection* connection, struct worker* worker, enum close_code code) {
  uint8_t close_frame[4] = {0x80 | OPCODE_CLOSE, 2, (uint8_t)(code >> 8), (uint8_t)code};
  if (code == CLOSE_NO_STATUS) close_frame[1] = 0;
  buffer_append(&worker->answers, close_frame, 2 + close_frame[1]);
  connection->phase = PHASE_CLOSING;
}

// The codes that may stand on the wire: RFC 6455, section 7.4, and IANA's registry.
static bool close_code_is_valid(unsigned code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

static void answer_close(struct connection* connection, struct worker* worker, const struct frame* frame,
                         const uint8_t* payload) {
  if (frame->payload_length == 0) return end(connection, worker, CLOSE_NO_STATUS);
  uint8_t bytes[2] = {0};
  if (frame->payload_length >= 2) frame_unmask(bytes, payload, 2, frame->mask);
  unsigned code = (unsigned)bytes[0] << 8 | bytes[1];
  end(connection, worker, close_code_is_valid(code) ? (enum close_code)code : CLOSE_PROTOCOL_ERROR);
}

static void answer_stamp(struct connection* connection, struct worker* worker, const struct frame* frame,
                         const uint8_t* payload) {
  struct buffer* message = &connection->message;
  if (message->length + frame->payload_length > FRAME_LARGEST_PAYLOAD) return end(connection, worker, CLOSE_TOO_BIG);
  frame_unmask(buffer_reserve(message, frame->payload_length), payload, frame->payload_length, frame->mask);
  message->length += frame->payload_length;
  if (!frame->final) return;

  int64_t count;
  if (stamp_parse(message->bytes, message->length, &count)) {
    stamp_answer(&worker->answers, count);
  } else {
    end(connection, worker, CLOSE_UNSUPPORTED_DATA);
  }
  message->length = 0;
}

static void answer_frame(struct connection* connection, struct worker* worker, const struct frame* frame,
                         const uint8_t* payload) {
  switch (frame->opcode) {
    case OPCODE_CLOSE:
      return answer_close(connection, worker, frame, payload);
    case OPCODE_PING:
      return answer(worker, frame, OPCODE_PONG, payload);
    case OPCODE_PONG:
      return;
    default:
      break;
  }
  bool continues = frame->opcode == OPCODE_CONTINUATION;
  if (continues != connection->in_message) return end(connection, worker, CLOSE_PROTOCOL_ERROR);
  connection->in_message = !frame->final;
  if (frame->final && worker->delay_ns > 0) spin_ns(worker->delay_ns);
  if (connection->service == SERVICE_STAMP) return answer_stamp(connection, worker, frame, payload);
  // A fragment goes back as the fragment that it is.
  bool alone = connection->pending.length == frame->header_length + frame->payload_length;
  if (alone && worker->answers.length == 0) {
    answer_in_place(connection, worker, frame);
  } else {
    answer(worker, frame, frame->opcode, payload);
  }
}

// Answers the request at `bytes`; returns how many bytes it took, 0 when it isn't whole.
static size_t take_request(struct connection* connection, struct worker* worker, const uint8_t* bytes, size_t length) {
  struct handshake handshake;
  switch (handshake_answer(bytes, length, &handshake, &worker->answers)) {
    case HANDSHAKE_NEEDS_MORE:
      return 0;
    case HANDSHAKE_REFUSED:
      connection->phase = PHASE_CLOSING;
      return length;
    case HANDSHAKE_ACCEPTED:
      break;
  }
  connection->phase = PHASE_OPEN;
  connection->service = handshake.service;
  if (handshake.service == SERVICE_STAMP) stamp_answer(&worker->answers, 0);
  return handshake.request_length;
}

// Answers the frame at `bytes`; returns how many bytes it took, 0 when it isn't whole.
static size_t take_frame(struct connection* connection, struct worker* worker, const uint8_t* bytes, size_t length) {
  struct frame frame;
  switch (frame_read_header(bytes, length, &frame)) {
    case FRAME_NEEDS_MORE:
      return 0;
    case FRAME_INVALID:
      end(connection, worker, CLOSE_PROTOCOL_ERROR);
      return length;
    case FRAME_TOO_BIG:
      end(connection, worker, CLOSE_TOO_BIG);
      return length;
    case FRAME_WHOLE_HEADER:
      break;
  }
  size_t frame_length = frame.header_length + frame.payload_length;
  if (length < frame_length) {
    connection->frame_length = frame_length;
    return 0;
  }
  answer_frame(connection, worker, &frame, bytes + frame.header_length);
  return frame_length;
}

// Answers all that is whole; returns how many bytes that took.
static size_t take_all(struct connection* connection, struct worker* worker, const uint8_t* bytes, size_t length) {
  size_t taken = 0;
  connection->frame_length = 0;
  while (taken < length) {
    size_t step;
    if (connection->phase == PHASE_OPEN) {
      step = take_frame(connection, worker, bytes + taken, length - taken);
    } else if (connection->phase == PHASE_HANDSHAKE) {
      step = take_request(connection, worker, bytes + taken, length - taken);
    } else {
      return length;
    }
    if (step == 0) break;
    taken += step;
  }
  return taken;
}

// Sends the worker's answers. What the socket has no room for stays with the connection: the two buffers change places,
// so nothing is copied.
static bool send_answers(struct connection* connection, struct worker* worker) {
  struct buffer* answers = &worker->answers;
  size_t done = worker->answers_start;
  worker->answers_start = 0;
  if (answers->length == 0) return true;
  ssize_t sent = send(connection->fd, answers->bytes + done, answers->length - done, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) {
    answers->length = 0;
    return false;
  }
  if (sent > 0) done += (size_t)sent;
  if (done < answers->length) {
    buffer_swap(answers, &connection->unsent);
    connection->unsent_done = done;
    watch(connection, worker, EPOLLOUT);
    return true;
  }
  answers->length = 0;
  if (connection->phase == PHASE_CLOSING) shutdown(connection->fd, SHUT_WR);
  return true;
}

static bool send_unsent(struct connection* connection, struct worker* worker) {
  struct buffer* unsent = &connection->unsent;
  ssize_t sent = send(connection->fd, unsent->bytes + connection->unsent_done, unsent->length - connection->unsent_done,
                      MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN;
  connection->unsent_done += (size_t)sent;
  if (connection->unsent_done < unsent->length) return true;
  unsent->length = 0;
  watch(connection, worker, EPOLLIN);
  if (connection->phase == PHASE_CLOSING) shutdown(connection->fd, SHUT_WR);
  return true;
}

// One receive, into the shared bytes when nothing is pending (the usual case: no copy), else behind what is pending and
// no further than the end of its frame, so that the next frame begins in the shared bytes again.
static ssize_t receive(struct connection* connection, struct worker* worker) {
  struct buffer* pending = &connection->pending;
  if (pending->length == 0) return recv(connection->fd, worker->received, RECEIVE_BYTES, 0);
  size_t missing =
      connection->frame_length > 0 ? connection->frame_length - pending->length : HANDSHAKE_LARGEST_REQUEST;
  ssize_t count = recv(connection->fd, buffer_reserve(pending, missing), missing, 0);
  if (count > 0) pending->length += (size_t)count;
  return count;
}

bool connection_ready(struct connection* connection, struct worker* worker, uint32_t events) {
  if (events & EPOLLOUT) return send_unsent(connection, worker);

  struct buffer* pending = &connection->pending;
  bool shared = pending->length == 0;
  ssize_t count = receive(connection, worker);
  if (count < 0) return errno == EAGAIN;
  if (count == 0) return false;

  const uint8_t* bytes = shared ? worker->received : pending->bytes;
  size_t length = shared ? (size_t)count : pending->length;
  if (!shared && length < connection->frame_length) return true;
  size_t taken = take_all(connection, worker, bytes, length);
  if (shared) {
    buffer_append(pending, bytes + taken, length - taken);
  } else if (pending->length > 0) {  // 0: the frame itself has become the answer
    buffer_consume(pending, taken);
  }
  return send_answers(connection, worker);
}
