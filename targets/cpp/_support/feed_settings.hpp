// What a feed client's command line and environment say (spec/feed.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace support {

// What a library can do beside the rest.
struct FeedAbilities {
  bool deflate = false;
  bool stamp_before = false;  // there is a receive call, before which the clock can be read
  const char* scheme = "ws";  // of addresses, without TLS's s
};

struct FeedSettings {
  std::string target;
  std::string exchange;
  std::string scheme;
  std::string host;
  std::string port;
  std::string stream;
  bool tls = true;
  std::string authority;  // PEM file; empty: the system's authorities
  std::string subscribe;
  std::optional<bool> deflate;  // nothing: the library's default
  std::string sink;
  std::string output;
  std::string exit_file;  // empty: none
  std::uint64_t delay_ns = 0;
  bool stamp_before = false;
  bool parse = false;
  bool log_messages = false;

  std::string url() const { return scheme + (tls ? "s://" : "://") + host + ':' + port + stream; }

  // What to send once the connection is open.
  std::vector<std::string> subscriptions() const;
};

// Ends the process with a line on stderr when something makes no sense.
FeedSettings read_feed_settings(int argc, char** argv, const char* target, const FeedAbilities& abilities);

// A line on stderr, then the end, without the destructors of what other threads still use.
[[noreturn]] void end_feed(int status, const std::string& line);

}  // namespace support
