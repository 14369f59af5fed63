// Echo and stamp servers with wslay's frame codec over an epoll loop of our own, on one thread.
#define _GNU_SOURCE  // accept4
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wslay/wslayver.h>

#include "bound_socket.h"
#include "connection.h"
#include "options.h"

enum { EVENTS_AT_ONCE = 256 };

static void fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(EXIT_FAILURE);
}

// SIGTERM and SIGINT become readable instead of interrupting anything.
static int open_signals(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void watch(int epoll_fd, int* fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd};
  if (*fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, *fd, &event) < 0) fail("cannot start");
}

int main(int argc, char** argv) {
  static const struct abilities abilities = {.version = WSLAY_VERSION, .reuse_port = true};
  struct options options = options_read(argc, argv, &abilities);
  int listener = bound_socket(&options);
  if (listen(listener, SOMAXCONN) < 0) fail("cannot listen");
  int signals = open_signals();
  int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  watch(epoll_fd, &listener);
  watch(epoll_fd, &signals);

  struct epoll_event events[EVENTS_AT_ONCE];
  for (;;) {
    int count = epoll_wait(epoll_fd, events, EVENTS_AT_ONCE, -1);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < count; i++) {
      void* source = events[i].data.ptr;
      if (source == &signals) return EXIT_SUCCESS;
      if (source == &listener) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) connection_open(&options, epoll_fd, fd);
      } else if (!connection_ready(source, events[i].events)) {
        connection_close(source);
      }
    }
  }
}
