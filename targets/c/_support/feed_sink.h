// Keeps what was received; after each call that is with the kernel. What can't be written ends the process.
#ifndef SUPPORT_FEED_SINK_H
#define SUPPORT_FEED_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "feed_settings.h"

struct moment {
  uint64_t monotonic_ns;  // CLOCK_MONOTONIC, the same for all processes
  uint64_t unix_ms;
};

// As the stamps file numbers them.
enum feed_kind { FEED_TEXT = 1, FEED_BINARY = 2, FEED_CONNECTED = 3, FEED_END = 4 };

void stamps_open(const struct feed_settings* settings);
void stamps_write(struct moment at, enum feed_kind kind, const void* payload, size_t length);

// `behind`: a thread of its own inserts. FEED_END waits until all is in; FEED_CONNECTED has no row.
void sqlite_open(const struct feed_settings* settings, bool behind);
void sqlite_write(struct moment at, enum feed_kind kind, const void* payload, size_t length);

#endif
