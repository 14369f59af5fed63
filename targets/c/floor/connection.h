// One client: its bytes in, its answers out.
#ifndef FLOOR_CONNECTION_H
#define FLOOR_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "handshake.h"

enum { RECEIVE_BYTES = 128 << 10 };

// What connections share, since one thread serves them one after the other: 10,000 idle connections then cost 10,000
// small structs, and the bytes that are worked on stay in the CPU's cache.
struct worker {
  int epoll_fd;
  int64_t delay_ns;       // spun away before each answer; 0: none
  struct buffer answers;  // to what one receive brought; sent at once
  size_t answers_start;   // where in `answers` they begin; 0 but for an answer made in place
  uint8_t received[RECEIVE_BYTES];
};

enum phase {
  PHASE_HANDSHAKE,
  PHASE_OPEN,
  PHASE_CLOSING,  // our last word is written: what still comes is thrown away until the peer hangs up
};

struct connection {
  int fd;
  enum phase phase;
  enum service service;
  bool in_message;        // a fragmented message is under way
  size_t frame_length;    // bytes of the frame that `pending` begins with, as far as known; else 0
  struct buffer pending;  // received, not yet a whole frame or request
  struct buffer message;  // the fragments of a /stamp message so far
  struct buffer unsent;   // answers that the socket had no room for; nothing is received until they are gone
  size_t unsent_done;     // bytes of `unsent` that are sent
};

// NULL, with the socket closed, when it can't be watched.
struct connection* connection_open(struct worker* worker, int fd);

// Does what the socket is ready for; false when the connection is over and `connection_close` is due.
bool connection_ready(struct connection* connection, struct worker* worker, uint32_t events);

void connection_close(struct connection* connection);

#endif
