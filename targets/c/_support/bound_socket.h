// A TCP socket for those libraries that take one, or have no sockets at all.
#ifndef SUPPORT_BOUND_SOCKET_H
#define SUPPORT_BOUND_SOCKET_H

#include "options.h"

// Bound but not yet listening, with TCP_NODELAY (accepted sockets inherit it) and, if asked for, SO_REUSEPORT. Ends the
// process with a line on stderr when the address can't be had.
int bound_socket(const struct options* options);

#endif
