#include "message.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST_CAPACITY = 256 };

bool message_append(struct message* message, const void* bytes, size_t length) {
  size_t needed = LWS_PRE + message->length + length;
  if (needed > message->capacity) {
    size_t capacity = message->capacity > 0 ? message->capacity : SMALLEST_CAPACITY;
    while (capacity < needed) capacity *= 2;
    unsigned char* memory = realloc(message->memory, capacity);
    if (memory == NULL) return false;
    message->memory = memory;
    message->capacity = capacity;
  }
  if (length > 0) memcpy(message->memory + LWS_PRE + message->length, bytes, length);
  message->length += length;
  return true;
}

void message_destroy(struct message* message) {
  free(message->memory);
  *message = (struct message){0};
}
