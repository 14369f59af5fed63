// The opening handshake (RFC 6455, section 4.2): an HTTP request in, 101 or a refusal out.
#ifndef SUPPORT_HANDSHAKE_H
#define SUPPORT_HANDSHAKE_H

#include <stddef.h>

#include "buffer.h"

enum { HANDSHAKE_LARGEST_REQUEST = 8192 };  // bytes

enum service { SERVICE_ECHO, SERVICE_STAMP };

enum handshake_status { HANDSHAKE_NEEDS_MORE, HANDSHAKE_ACCEPTED, HANDSHAKE_REFUSED };

struct handshake {
  enum service service;   // which path was asked for, when accepted
  size_t request_length;  // bytes that the request took
};

// Looks for a whole request at `bytes` and appends the response to `out`.
enum handshake_status handshake_answer(const uint8_t* bytes, size_t length, struct handshake* handshake,
                                       struct buffer* out);

#endif
