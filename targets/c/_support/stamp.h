// The /stamp service's messages: {"c":n} is answered with {"c":n,"ts":<unix seconds>}.
#ifndef SUPPORT_STAMP_H
#define SUPPORT_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STAMP_LARGEST = 64 };  // bytes; two 64-bit integers and their names take 52

// Reads the whole number of a JSON object {"c":n}; false for anything else.
bool stamp_parse(const void* message, size_t length, int64_t* count);

// Writes the answer and returns its length. The greeting on connecting is the answer to 0.
size_t stamp_write(int64_t count, char answer[STAMP_LARGEST]);

#endif
