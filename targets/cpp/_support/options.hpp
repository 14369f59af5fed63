// Command line and knobs (spec/README.md), the same for every server written with a C++ library.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace support {

struct Options {
  std::string host;
  std::uint16_t port = 0;
  std::chrono::nanoseconds delay{};  // spun away before each answer
  bool log_messages = false;
  bool deflate = false;
  bool reuse_port = false;
  bool tls = false;
  std::string certificate;  // PEM files; empty without tls
  std::string key;
  int threads = 1;
};

// What a library can do, and what it does by itself.
struct Abilities {
  std::string version;  // of the library, printed for --version
  bool deflate = false;
  bool reuse_port = false;
  bool reuse_port_by_default = false;
  bool tls = false;
  bool threads = false;
};

// Ends the process with a line on stderr: with status 2 for a wrong command line, 1 for a knob that can't be read, and
// 127 for one that asks for what the library can't do.
Options read_options(int argc, char** argv, const Abilities& abilities);

// What the knobs ask for between a message and its answer; usually nothing.
void before_answer(const Options& options, std::string_view message);

// "/echo" of a request's target "/echo?from=here".
inline std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

// A line on stderr, then the end with status 1.
[[noreturn]] void fail(const std::string& what);

// For libraries whose threads serve and that leave the main one free: first of all blocks SIGTERM and SIGINT in every
// thread to come, later waits for either.
void block_termination();
void wait_for_termination();

// For event loops that watch descriptors: becomes readable on SIGTERM or SIGINT, which no longer interrupt anything.
int termination_descriptor();

}  // namespace support
