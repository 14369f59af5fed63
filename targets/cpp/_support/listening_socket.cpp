#include "listening_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace support {
namespace {

[[noreturn]] void refuse(const Options& options, const char* reason) {
  fail("cannot listen on " + options.host + ':' + std::to_string(options.port) + ": " + reason);
}

}  // namespace

int listening_socket(const Options& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* address = nullptr;
  const int problem = getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &address);
  if (problem != 0) refuse(options, gai_strerror(problem));

  const int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const int reuse_port = options.reuse_port ? 1 : 0;
  if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &reuse_port, sizeof reuse_port) < 0 ||
      bind(descriptor, address->ai_addr, address->ai_addrlen) < 0 || listen(descriptor, SOMAXCONN) < 0) {
    refuse(options, std::strerror(errno));
  }
  freeaddrinfo(address);
  return descriptor;
}

}  // namespace support
