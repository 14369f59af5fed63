// A message on its way: collected piece by piece, then queued for sending.
#ifndef MESSAGE_H
#define MESSAGE_H

#include <libwebsockets.h>
#include <stdbool.h>
#include <stddef.h>

struct message {
  unsigned char* memory;  // LWS_PRE bytes that lws_write fills with the frame's header, then the payload
  size_t length;          // of the payload
  size_t capacity;
  enum lws_write_protocol protocol;
};

// False when memory has run out.
bool message_append(struct message* message, const void* bytes, size_t length);

// Frees what it holds and leaves an empty message.
void message_destroy(struct message* message);

#endif
