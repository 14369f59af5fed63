// A growable run of bytes: what has arrived and is not yet whole, or what waits to be sent.
#ifndef SUPPORT_BUFFER_H
#define SUPPORT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
  uint8_t* bytes;
  size_t length;
  size_t capacity;
};

// Makes room for `extra` more bytes and returns where they go. Ends the process when memory has run out.
uint8_t* buffer_reserve(struct buffer* buffer, size_t extra);

void buffer_append(struct buffer* buffer, const void* bytes, size_t length);

// Drops the first `length` bytes.
void buffer_consume(struct buffer* buffer, size_t length);

void buffer_swap(struct buffer* one, struct buffer* other);

void buffer_free(struct buffer* buffer);

#endif
