// One connection to one exchange, from the command line to the exit status: what the C feed clients share
// (spec/feed.md). They have one thread, and a loop of their library's.
#ifndef SUPPORT_FEED_H
#define SUPPORT_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "feed_sink.h"

enum { EXIT_FILE_EVERY_MS = 250, CLOSING_AT_MOST_MS = 1000 };

// Opens the sink; ends the process when its file can't be had.
void feed_open(const struct feed_settings* settings);

// The handshake is done.
void feed_connected(void);

// When a message was handed over; the first thing that a handler asks for.
struct moment feed_now(void);

void feed_message(struct moment at, enum feed_kind kind, const void* payload, size_t length);

bool feed_exit_file_is_there(void);

// SIGTERM or the exit file ask for the end: by a closing handshake, or at once where nothing is connected.
void feed_ask_to_end(void);
bool feed_is_ending(void);

// How the connection ended: by a close frame, or without one. `reason` need not end with a zero.
_Noreturn void feed_closed(int code, const char* reason, size_t length);
_Noreturn void feed_lost(const char* reason);

// For whatever is told before the handshake is done.
_Noreturn void feed_cannot_connect(const char* reason);

#endif
