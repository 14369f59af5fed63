// The floor: what a WebSocket echo costs when hardly anything but the kernel's part is left. One thread, one epoll
// loop, one receive and one send for all frames that arrived together.
#define _GNU_SOURCE  // accept4
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "knob.h"
#include "stall.h"

static const char VERSION[] = "1.0.0";

enum { EVENTS_AT_ONCE = 512 };

struct server {
  struct worker worker;
  struct stall stall;
  int listener_fd;
  int signal_fd;
};

static void fail(const char* what) {
  fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
  exit(EXIT_FAILURE);
}

static int listen_on(const char* host, const char* port) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  struct addrinfo* address;
  int problem = getaddrinfo(host, port, &hints, &address);
  if (problem != 0) {
    fprintf(stderr, "floor: cannot listen on %s port %s: %s\n", host, port, gai_strerror(problem));
    exit(EXIT_FAILURE);
  }
  int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
  if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
    fprintf(stderr, "floor: cannot listen on %s port %s: %s\n", host, port, strerror(errno));
    exit(EXIT_FAILURE);
  }
  freeaddrinfo(address);
  return fd;
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

// `source` is what the event brings back: one of the server's own descriptors, else a connection.
static void watch(struct server* server, int* source) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
  if (*source >= 0 && epoll_ctl(server->worker.epoll_fd, EPOLL_CTL_ADD, *source, &event) < 0) fail("epoll_ctl");
}

static void accept_all(struct server* server) {
  for (;;) {
    int fd = accept4(server->listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      connection_open(&server->worker, fd);
    } else if (errno == EMFILE || errno == ENFILE) {
      // The listener would stay ready and the loop would spin on it; those that are connected are served on.
      fprintf(stderr, "floor: no more connections are accepted: %s\n", strerror(errno));
      epoll_ctl(server->worker.epoll_fd, EPOLL_CTL_DEL, server->listener_fd, NULL);
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

static void serve(struct server* server) {
  struct epoll_event events[EVENTS_AT_ONCE];
  for (;;) {
    int count = epoll_wait(server->worker.epoll_fd, events, EVENTS_AT_ONCE, -1);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < count; i++) {
      void* source = events[i].data.ptr;
      if (source == &server->signal_fd) return;
      if (source == &server->listener_fd) {
        accept_all(server);
      } else if (source == &server->stall.timer_fd) {
        stall_ready(&server->stall);
      } else if (!connection_ready(source, &server->worker, events[i].events)) {
        connection_close(source);
      }
    }
  }
}

// As many connections as the machine allows, without asking for privileges.
static void raise_file_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    puts(VERSION);
    return EXIT_SUCCESS;
  }
  if (argc != 5 || strcmp(argv[1], "--host") != 0 || strcmp(argv[3], "--port") != 0) {
    fprintf(stderr, "usage: floor --host HOST --port PORT | --version\n");
    return 2;
  }
  static struct server server;
  server.worker.delay_ns = knob_ns("FEEDBENCH_DELAY_NS");
  if (!stall_open(&server.stall)) return EXIT_FAILURE;
  raise_file_limit();
  server.signal_fd = open_signals();
  server.listener_fd = listen_on(argv[2], argv[4]);
  server.worker.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (server.signal_fd < 0 || server.worker.epoll_fd < 0) fail("cannot start");
  watch(&server, &server.signal_fd);
  watch(&server, &server.listener_fd);
  watch(&server, &server.stall.timer_fd);
  serve(&server);
  return EXIT_SUCCESS;
}
