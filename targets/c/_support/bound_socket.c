#include "bound_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static _Noreturn void fail(const struct options* options, const char* reason) {
  fprintf(stderr, "cannot listen on %s:%d: %s\n", options->host, options->port, reason);
  exit(EXIT_FAILURE);
}

int bound_socket(const struct options* options) {
  char port[16];
  snprintf(port, sizeof port, "%d", options->port);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  struct addrinfo* address;
  int problem = getaddrinfo(options->host, port, &hints, &address);
  if (problem != 0) fail(options, gai_strerror(problem));

  int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  int reuse_port = options->reuse_port;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &reuse_port, sizeof reuse_port) < 0 ||
      bind(fd, address->ai_addr, address->ai_addrlen) < 0) {
    fail(options, strerror(errno));
  }
  freeaddrinfo(address);
  return fd;
}
