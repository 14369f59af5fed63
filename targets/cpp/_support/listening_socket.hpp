// A listening TCP socket for those libraries that take one.
#pragma once

#include "options.hpp"

namespace support {

// With TCP_NODELAY (accepted sockets inherit it) and, if asked for, SO_REUSEPORT. Ends the process with a line on
// stderr when the address can't be had.
int listening_socket(const Options& options);

}  // namespace support
