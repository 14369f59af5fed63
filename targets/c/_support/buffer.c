#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t* buffer_reserve(struct buffer* buffer, size_t extra) {
  size_t needed = buffer->length + extra;
  if (needed > buffer->capacity) {
    size_t capacity = buffer->capacity * 2 > needed ? buffer->capacity * 2 : needed;
    uint8_t* bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
      fprintf(stderr, "floor: out of memory for %zu bytes\n", capacity);
      exit(EXIT_FAILURE);
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
  }
  return buffer->bytes + buffer->length;
}

void buffer_append(struct buffer* buffer, const void* bytes, size_t length) {
  if (length > 0) memcpy(buffer_reserve(buffer, length), bytes, length);
  buffer->length += length;
}

void buffer_consume(struct buffer* buffer, size_t length) {
  buffer->length -= length;
  if (length > 0 && buffer->length > 0) memmove(buffer->bytes, buffer->bytes + length, buffer->length);
}

void buffer_swap(struct buffer* one, struct buffer* other) {
  struct buffer kept = *one;
  *one = *other;
  *other = kept;
}

void buffer_free(struct buffer* buffer) {
  free(buffer->bytes);
  *buffer = (struct buffer){0};
}
