#include "knob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int64_t knob_ns(const char* variable) {
  const char* text = getenv(variable);
  if (text == NULL) return 0;
  char* end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < 0) {
    fprintf(stderr, "floor: %s=%s is not a whole number of nanoseconds\n", variable, text);
    exit(EXIT_FAILURE);
  }
  return value;
}
