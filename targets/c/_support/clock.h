// CLOCK_MONOTONIC in nanoseconds.
#ifndef SUPPORT_CLOCK_H
#define SUPPORT_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void spin_ns(int64_t duration_ns) {
  int64_t until_ns = monotonic_ns() + duration_ns;
  while (monotonic_ns() < until_ns) {
  }
}

#endif
