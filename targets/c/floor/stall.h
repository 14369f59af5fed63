// A planted fault: the whole server sleeps for a while, again and again, and says exactly when.
//
//   FEEDBENCH_STALL_NS        how long it sleeps
//   FEEDBENCH_STALL_EVERY_NS  from the start of one sleep to the start of the next
//   FEEDBENCH_STALL_LOG       a file that gets a line "<start> <end>" for each sleep, CLOCK_MONOTONIC nanoseconds
//
// With it a load generator can be tested against what is known to have happened.
#ifndef FLOOR_STALL_H
#define FLOOR_STALL_H

#include <stdbool.h>
#include <stdint.h>

struct stall {
  int timer_fd;  // -1: no stalls were asked for
  int log_fd;
  int64_t duration_ns;
};

// Reads the environment. False, with the reason on stderr, when the log can't be written.
bool stall_open(struct stall* stall);

// Sleeps if the timer has run out, and logs it.
void stall_ready(struct stall* stall);

#endif
