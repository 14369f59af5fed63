#include "stall.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "knob.h"

static struct timespec timespec_from_ns(int64_t ns) {
  return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

bool stall_open(struct stall* stall) {
  *stall = (struct stall){.timer_fd = -1, .log_fd = -1, .duration_ns = knob_ns("FEEDBENCH_STALL_NS")};
  int64_t every_ns = knob_ns("FEEDBENCH_STALL_EVERY_NS");
  if (stall->duration_ns == 0 || every_ns == 0) return true;

  const char* log = getenv("FEEDBENCH_STALL_LOG");
  if (log != NULL && (stall->log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) < 0) {
    fprintf(stderr, "floor: cannot write the stall log %s: %s\n", log, strerror(errno));
    return false;
  }
  struct itimerspec interval = {.it_interval = timespec_from_ns(every_ns), .it_value = timespec_from_ns(every_ns)};
  stall->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  timerfd_settime(stall->timer_fd, 0, &interval, NULL);
  return true;
}

void stall_ready(struct stall* stall) {
  uint64_t expirations;
  if (read(stall->timer_fd, &expirations, sizeof expirations) < 0) return;
  int64_t start_ns = monotonic_ns();
  struct timespec until = timespec_from_ns(start_ns + stall->duration_ns);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
  if (stall->log_fd >= 0) dprintf(stall->log_fd, "%" PRId64 " %" PRId64 "\n", start_ns, monotonic_ns());
}
