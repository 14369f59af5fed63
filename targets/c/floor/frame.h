// WebSocket frames (RFC 6455, section 5): reading a client's header, writing a server's, taking the mask off.
#ifndef FLOOR_FRAME_H
#define FLOOR_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opcode {
  OPCODE_CONTINUATION = 0x0,
  OPCODE_TEXT = 0x1,
  OPCODE_BINARY = 0x2,
  OPCODE_CLOSE = 0x8,
  OPCODE_PING = 0x9,
  OPCODE_PONG = 0xA,
};

enum close_code {
  CLOSE_PROTOCOL_ERROR = 1002,
  CLOSE_UNSUPPORTED_DATA = 1003,
  CLOSE_NO_STATUS = 1005,  // never on the wire: stands for a Close without a code
  CLOSE_TOO_BIG = 1009,
};

enum {
  FRAME_LARGEST_SERVER_HEADER = 10,
  FRAME_LARGEST_CONTROL_PAYLOAD = 125,
  FRAME_LARGEST_PAYLOAD = 64 << 20,  // bytes; more is answered with 1009
};

struct frame {
  bool final;
  enum opcode opcode;
  size_t header_length;   // bytes before the payload, mask included
  size_t payload_length;  // bytes
  uint8_t mask[4];
};

enum frame_status { FRAME_WHOLE_HEADER, FRAME_NEEDS_MORE, FRAME_INVALID, FRAME_TOO_BIG };

static inline bool opcode_is_control(enum opcode opcode) { return opcode >= OPCODE_CLOSE; }

// Reads the header at `bytes`; the payload need not have arrived. `frame` is set only for FRAME_WHOLE_HEADER.
enum frame_status frame_read_header(const uint8_t* bytes, size_t length, struct frame* frame);

// Writes an unmasked header and returns its length; `out` has room for FRAME_LARGEST_SERVER_HEADER.
size_t frame_write_header(uint8_t* out, bool final, enum opcode opcode, size_t payload_length);

// Copies `length` bytes from `masked` to `out`, taking the mask off; the two are apart.
void frame_unmask(uint8_t* restrict out, const uint8_t* restrict masked, size_t length, const uint8_t mask[4]);

// Takes the mask off where the bytes are.
void frame_unmask_in_place(uint8_t* bytes, size_t length, const uint8_t mask[4]);

#endif
