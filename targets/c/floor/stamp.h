// The /stamp service: {"c":n} is answered with {"c":n,"ts":<unix seconds>}.
#ifndef FLOOR_STAMP_H
#define FLOOR_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

// Reads the whole number of a JSON object {"c":n}; false for anything else.
bool stamp_parse(const uint8_t* bytes, size_t length, int64_t* count);

// Appends the text frame that answers `count`.
void stamp_answer(struct buffer* out, int64_t count);

#endif
