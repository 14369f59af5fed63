#include "frame.h"

#include <string.h>

static uint64_t read_big_endian(const uint8_t* bytes, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; i++) value = value << 8 | bytes[i];
  return value;
}

static void write_big_endian(uint8_t* out, uint64_t value, size_t width) {
  for (size_t i = width; i-- > 0; value >>= 8) out[i] = (uint8_t)value;
}

static bool opcode_is_known(uint8_t opcode) {
  return opcode <= OPCODE_BINARY || (opcode >= OPCODE_CLOSE && opcode <= OPCODE_PONG);
}

enum frame_status frame_read_header(const uint8_t* bytes, size_t length, struct frame* frame) {
  if (length < 2) return FRAME_NEEDS_MORE;
  bool final = bytes[0] & 0x80;
  bool reserved_bits = bytes[0] & 0x70;  // no extension is ever agreed, so none may be set
  uint8_t opcode = bytes[0] & 0x0F;
  bool masked = bytes[1] & 0x80;  // a client must
  uint8_t short_length = bytes[1] & 0x7F;
  if (reserved_bits || !masked || !opcode_is_known(opcode)) return FRAME_INVALID;
  if (opcode_is_control(opcode) && (!final || short_length > FRAME_LARGEST_CONTROL_PAYLOAD)) return FRAME_INVALID;

  size_t width = short_length == 127 ? 8 : short_length == 126 ? 2 : 0;
  size_t header_length = 2 + width + 4;
  if (length < header_length) return FRAME_NEEDS_MORE;
  uint64_t payload_length = width == 0 ? short_length : read_big_endian(bytes + 2, width);
  if ((width == 2 && payload_length < 126) || (width == 8 && payload_length <= UINT16_MAX)) return FRAME_INVALID;
  if (payload_length > FRAME_LARGEST_PAYLOAD) return FRAME_TOO_BIG;

  frame->final = final;
  frame->opcode = opcode;
  frame->header_length = header_length;
  frame->payload_length = payload_length;
  memcpy(frame->mask, bytes + header_length - 4, 4);
  return FRAME_WHOLE_HEADER;
}

size_t frame_write_header(uint8_t* out, bool final, enum opcode opcode, size_t payload_length) {
  out[0] = (uint8_t)((final ? 0x80 : 0) | opcode);
  if (payload_length < 126) {
    out[1] = (uint8_t)payload_length;
    return 2;
  }
  size_t width = payload_length <= UINT16_MAX ? 2 : 8;
  out[1] = width == 2 ? 126 : 127;
  write_big_endian(out + 2, payload_length, width);
  return 2 + width;
}

static uint64_t mask_twice(const uint8_t mask[4]) {
  uint32_t once;
  memcpy(&once, mask, 4);
  return (uint64_t)once << 32 | once;
}

// Both go eight bytes at a time, of which the compiler makes wider vectors; memcpy because nothing is aligned. They are
// two functions because only one that knows whether its bytes overlap is made into vectors.

void frame_unmask(uint8_t* restrict out, const uint8_t* restrict masked, size_t length, const uint8_t mask[4]) {
  uint64_t mask64 = mask_twice(mask);
  size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    uint64_t word;
    memcpy(&word, masked + i, 8);
    word ^= mask64;
    memcpy(out + i, &word, 8);
  }
  for (; i < length; i++) out[i] = masked[i] ^ mask[i % 4];
}

void frame_unmask_in_place(uint8_t* bytes, size_t length, const uint8_t mask[4]) {
  uint64_t mask64 = mask_twice(mask);
  size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    uint64_t word;
    memcpy(&word, bytes + i, 8);
    word ^= mask64;
    memcpy(bytes + i, &word, 8);
  }
  for (; i < length; i++) bytes[i] ^= mask[i % 4];
}
