// SHA-1 (RFC 3174) and base64 (RFC 4648): just what the WebSocket handshake wants of them.
#ifndef SUPPORT_SHA1_H
#define SUPPORT_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { SHA1_LENGTH = 20, SHA1_BASE64_LENGTH = 28 };

// The digest of up to 119 bytes (two blocks with their padding).
void sha1_short(const void* bytes, size_t length, uint8_t digest[SHA1_LENGTH]);

// Writes the 28 characters of a digest, without a terminator.
void sha1_base64(const uint8_t digest[SHA1_LENGTH], char out[SHA1_BASE64_LENGTH]);

#endif
