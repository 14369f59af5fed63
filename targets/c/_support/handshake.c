#define _GNU_SOURCE  // memmem, strncasecmp
#include "handshake.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sha1.h"

static const char ACCEPT_SUFFIX[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455, section 1.3
enum { KEY_LENGTH = 24 };                                                    // base64 of 16 bytes

struct text {
  const char* start;
  size_t length;
};

static bool text_is(struct text text, const char* wanted) {
  return text.length == strlen(wanted) && strncasecmp(text.start, wanted, text.length) == 0;
}

// The value of the first header field called `name`, without the blanks around it; empty when there is none.
static struct text header_field(struct text request, const char* name) {
  const char* end = request.start + request.length;
  size_t name_length = strlen(name);
  for (const char* line = request.start; line < end;) {
    const char* line_end = memmem(line, (size_t)(end - line), "\r\n", 2);
    if (line_end == NULL) line_end = end;
    if ((size_t)(line_end - line) > name_length && line[name_length] == ':' &&
        strncasecmp(line, name, name_length) == 0) {
      const char* from = line + name_length + 1;
      const char* to = line_end;
      while (from < to && (*from == ' ' || *from == '\t')) from++;
      while (to > from && (to[-1] == ' ' || to[-1] == '\t')) to--;
      return (struct text){from, (size_t)(to - from)};
    }
    line = line_end + 2;
  }
  return (struct text){request.start, 0};
}

// Is `token` one of the comma-separated words of `list`?
static bool list_has(struct text list, const char* token) {
  const char* end = list.start + list.length;
  for (const char* word = list.start; word < end;) {
    const char* comma = memchr(word, ',', (size_t)(end - word));
    const char* to = comma ? comma : end;
    while (word < to && *word == ' ') word++;
    size_t length = (size_t)(to - word);
    while (length > 0 && word[length - 1] == ' ') length--;
    if (text_is((struct text){word, length}, token)) return true;
    word = to + 1;
  }
  return false;
}

// Does the request begin with "GET <path>", before a blank or a query?
static bool asks_for(struct text request, const char* path) {
  size_t length = strlen(path);
  if (request.length < length + 5 || memcmp(request.start, "GET ", 4) != 0) return false;
  char behind = request.start[4 + length];
  return memcmp(request.start + 4, path, length) == 0 && (behind == ' ' || behind == '?');
}

static bool path_service(struct text request, enum service* service) {
  *service = asks_for(request, "/stamp") ? SERVICE_STAMP : SERVICE_ECHO;
  return *service == SERVICE_STAMP || asks_for(request, "/echo");
}

static enum handshake_status refuse(struct buffer* out, const char* status, const char* extra_field) {
  char response[160];
  int length = snprintf(response, sizeof response, "HTTP/1.1 %s\r\n%sConnection: close\r\nContent-Length: 0\r\n\r\n",
                        status, extra_field);
  buffer_append(out, response, (size_t)length);
  return HANDSHAKE_REFUSED;
}

static void accept_key(struct text key, struct buffer* out) {
  static const char head[] =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ";
  char joined[KEY_LENGTH + sizeof ACCEPT_SUFFIX - 1];
  memcpy(joined, key.start, KEY_LENGTH);
  memcpy(joined + KEY_LENGTH, ACCEPT_SUFFIX, sizeof ACCEPT_SUFFIX - 1);
  uint8_t digest[SHA1_LENGTH];
  char accept[SHA1_BASE64_LENGTH];
  sha1_short(joined, sizeof joined, digest);
  sha1_base64(digest, accept);
  buffer_append(out, head, sizeof head - 1);
  buffer_append(out, accept, sizeof accept);
  buffer_append(out, "\r\n\r\n", 4);
}

enum handshake_status handshake_answer(const uint8_t* bytes, size_t length, struct handshake* handshake,
                                       struct buffer* out) {
  size_t searched = length < HANDSHAKE_LARGEST_REQUEST ? length : HANDSHAKE_LARGEST_REQUEST;
  const char* blank_line = memmem(bytes, searched, "\r\n\r\n", 4);
  if (blank_line == NULL) {
    if (length < HANDSHAKE_LARGEST_REQUEST) return HANDSHAKE_NEEDS_MORE;
    return refuse(out, "431 Request Header Fields Too Large", "");
  }
  struct text request = {(const char*)bytes, (size_t)(blank_line - (const char*)bytes)};
  handshake->request_length = request.length + 4;

  if (!path_service(request, &handshake->service)) return refuse(out, "404 Not Found", "");
  struct text key = header_field(request, "Sec-WebSocket-Key");
  bool upgrade = text_is(header_field(request, "Upgrade"), "websocket") &&
                 list_has(header_field(request, "Connection"), "Upgrade");
  if (!upgrade || key.length != KEY_LENGTH) return refuse(out, "400 Bad Request", "");
  if (!text_is(header_field(request, "Sec-WebSocket-Version"), "13")) {
    return refuse(out, "426 Upgrade Required", "Sec-WebSocket-Version: 13\r\n");
  }
  accept_key(key, out);
  return HANDSHAKE_ACCEPTED;
}
