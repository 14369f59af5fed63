// One client: the handshake is ours, then wslay reads and writes its frames through our callbacks.
#ifndef CONNECTION_H
#define CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct connection;

// Watches the socket; NULL, with the socket closed, when that can't be done.
struct connection* connection_open(const struct options* options, int epoll_fd, int fd);

// Does what the socket is ready for; false when the connection is over and `connection_close` is due.
bool connection_ready(struct connection* connection, uint32_t events);

void connection_close(struct connection* connection);

#endif
