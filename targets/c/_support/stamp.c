#include "stamp.h"

#include <jansson.h>
#include <time.h>

// jansson descends once for each bracket, and a thread of civetweb's has 100 KiB of stack: a request so long is refused
// unread.
enum { LARGEST_REQUEST = 256 };

bool stamp_parse(const void* message, size_t length, int64_t* count) {
  if (length > LARGEST_REQUEST) return false;
  json_t* request = json_loadb(message, length, 0, NULL);
  json_t* number = json_object_get(request, "c");  // NULL for what is no object
  bool is_whole = json_is_integer(number);
  *count = json_integer_value(number);
  json_decref(request);
  return is_whole;
}

size_t stamp_write(int64_t count, char answer[STAMP_LARGEST]) {
  json_t* stamp = json_pack("{s:I, s:I}", "c", (json_int_t)count, "ts", (json_int_t)time(NULL));
  size_t length = json_dumpb(stamp, answer, STAMP_LARGEST, JSON_COMPACT);
  json_decref(stamp);
  return length;
}
