#include "options.hpp"

#include <getopt.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <optional>

namespace support {
namespace {

constexpr int wrong_command_line = 2;
constexpr int unsupported = 127;
constexpr int most_threads = 1024;

[[noreturn]] void end(int status, const std::string& what) {
  std::cerr << what << '\n';
  std::exit(status);
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::int64_t whole_number(const std::string& name, std::string_view text, std::int64_t least, std::int64_t largest,
                          int status) {
  std::int64_t value = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || rest != text.data() + text.size() || value < least || value > largest) {
    end(status, name + " is \"" + std::string(text) + "\": say a whole number from " + std::to_string(least) + " to " +
                    std::to_string(largest));
  }
  return value;
}

std::int64_t number_knob(const char* name, std::int64_t usual, std::int64_t least, std::int64_t largest) {
  const auto value = variable(name);
  return value ? whole_number(name, *value, least, largest, EXIT_FAILURE) : usual;
}

bool is_on(const char* name, const char* off, const char* on, bool usual) {
  const auto value = variable(name);
  if (!value) return usual;
  if (*value != on && *value != off) {
    end(EXIT_FAILURE, std::string(name) + " is \"" + *value + "\": say " + off + " or " + on);
  }
  return *value == on;
}

bool is_on_if_able(const char* name, bool able, bool usual) {
  const bool on = is_on(name, "off", "on", usual);
  if (on && !able) end(unsupported, std::string(name) + "=on: this server can't do that");
  return on;
}

std::string pem_file(const char* name) {
  const auto path = variable(name);
  if (!path || path->empty()) fail(std::string("FEEDBENCH_TLS=on wants a PEM file in ") + name);
  return *path;
}

void read_command_line(int argc, char** argv, const std::string& version, Options& options) {
  static constexpr option names[] = {{"host", required_argument, nullptr, 'h'},
                                     {"port", required_argument, nullptr, 'p'},
                                     {"version", no_argument, nullptr, 'v'},
                                     {nullptr, 0, nullptr, 0}};
  static constexpr char usage[] = "usage: server --host HOST --port PORT | --version";
  bool has_port = false;
  opterr = 0;  // one line of ours says it all
  for (int name = 0; (name = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (name) {
      case 'h':
        options.host = optarg;
        break;
      case 'p':
        options.port = static_cast<std::uint16_t>(
            whole_number("--port", optarg, 0, std::numeric_limits<std::uint16_t>::max(), wrong_command_line));
        has_port = true;
        break;
      case 'v':
        std::cout << version << '\n';
        std::exit(EXIT_SUCCESS);
      default:
        end(wrong_command_line, usage);
    }
  }
  if (optind != argc || options.host.empty() || !has_port) end(wrong_command_line, usage);
}

sigset_t termination() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

Options read_options(int argc, char** argv, const Abilities& abilities) {
  Options options;
  read_command_line(argc, argv, abilities.version, options);
  options.delay =
      std::chrono::nanoseconds(number_knob("FEEDBENCH_DELAY_NS", 0, 0, std::numeric_limits<std::int64_t>::max()));
  options.log_messages = is_on("FEEDBENCH_LOG_MESSAGES", "false", "true", false);
  options.deflate = is_on_if_able("FEEDBENCH_DEFLATE", abilities.deflate, false);
  options.reuse_port = is_on_if_able("FEEDBENCH_REUSE_PORT", abilities.reuse_port, abilities.reuse_port_by_default);
  options.tls = is_on_if_able("FEEDBENCH_TLS", abilities.tls, false);
  if (options.tls) {
    options.certificate = pem_file("FEEDBENCH_TLS_CERTIFICATE");
    options.key = pem_file("FEEDBENCH_TLS_KEY");
  }
  options.threads = static_cast<int>(number_knob("FEEDBENCH_THREADS", 1, 1, most_threads));
  if (options.threads > 1 && !abilities.threads) {
    end(unsupported, "FEEDBENCH_THREADS=" + std::to_string(options.threads) + ": this server can't do that");
  }
  return options;
}

void before_answer(const Options& options, std::string_view message) {
  // A line at a time, as a program that logs to a terminal or for a follower would.
  if (options.log_messages) std::cout << message << std::endl;
  if (options.delay.count() > 0) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < options.delay) {
    }
  }
}

void fail(const std::string& what) { end(EXIT_FAILURE, what); }

void block_termination() {
  const sigset_t signals = termination();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void wait_for_termination() {
  const sigset_t signals = termination();
  int ended_by = 0;
  sigwait(&signals, &ended_by);
}

int termination_descriptor() {
  block_termination();
  const sigset_t signals = termination();
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

}  // namespace support
