#include "stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frame.h"

bool stamp_parse(const uint8_t* bytes, size_t length, int64_t* count) {
  char text[64];  // the longest {"c":n} without odd spacing takes 26
  if (length == 0 || length >= sizeof text) return false;
  memcpy(text, bytes, length);
  text[length] = '\0';
  int end = 0;
  return sscanf(text, " { \"c\" : %" SCNd64 " } %n", count, &end) == 1 && (size_t)end == length;
}

void stamp_answer(struct buffer* out, int64_t count) {
  char text[64];
  int length = snprintf(text, sizeof text, "{\"c\":%" PRId64 ",\"ts\":%" PRId64 "}", count, (int64_t)time(NULL));
  uint8_t header[FRAME_LARGEST_SERVER_HEADER];
  buffer_append(out, header, frame_write_header(header, true, OPCODE_TEXT, (size_t)length));
  buffer_append(out, text, (size_t)length);
}
