#include "feed_settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <sstream>

namespace support {
namespace {

constexpr int wrong_usage = 2;
constexpr int unsupported = 127;

std::string variable(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// The variable's value, the first of those allowed when it is unset.
std::string knob(const char* name, std::initializer_list<const char*> allowed) {
  const auto value = variable(name, *allowed.begin());
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    end_feed(unsupported, std::string(name) + '=' + value + ": this client can't do that");
  }
  return value;
}

template <class Number>
bool is_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc{} && rest == end;
}

std::uint64_t read_delay_ns() {
  const auto text = variable("FEEDBENCH_DELAY_NS", "0");
  std::uint64_t delay_ns = 0;
  if (!is_number(text, delay_ns)) end_feed(unsupported, "FEEDBENCH_DELAY_NS=" + text + ": say a whole number");
  return delay_ns;
}

std::optional<bool> read_deflate(bool able) {
  const auto value = able ? knob("FEEDBENCH_DEFLATE", {"default", "off", "on"})
                          : knob("FEEDBENCH_DEFLATE", {"default", "off"});
  return value == "default" ? std::nullopt : std::optional<bool>(value == "on");
}

void read_arguments(int argc, char** argv, FeedSettings& settings) {
  if (argc != 5) end_feed(wrong_usage, "usage: client EXCHANGE DOMAIN PORT STREAM");
  settings.exchange = argv[1];
  settings.host = argv[2];
  settings.port = argv[3];
  settings.stream = argv[4];
  const std::string plain = settings.scheme + "://";
  if (settings.host.compare(0, plain.size(), plain) == 0) {
    settings.host.erase(0, plain.size());
    settings.tls = false;
  }
  std::uint16_t port = 0;
  if (!is_number(settings.port, port)) {
    end_feed(wrong_usage, "the port is " + settings.port + ": say a number up to " +
                              std::to_string(std::numeric_limits<std::uint16_t>::max()));
  }
}

}  // namespace

std::vector<std::string> FeedSettings::subscriptions() const {
  std::vector<std::string> messages;
  std::istringstream lines(subscribe);
  for (std::string line; std::getline(lines, line);) messages.push_back(line);
  return messages;
}

FeedSettings read_feed_settings(int argc, char** argv, const char* target, const FeedAbilities& abilities) {
  FeedSettings settings;
  settings.target = target;
  settings.scheme = abilities.scheme;
  read_arguments(argc, argv, settings);
  settings.authority = variable("FEEDBENCH_CA_FILE");
  settings.subscribe = variable("FEEDBENCH_SUBSCRIBE");
  settings.deflate = read_deflate(abilities.deflate);
  settings.sink = knob("FEEDBENCH_SINK", {"stamps", "sqlite", "sqlite_behind", "none"});
  settings.output = variable("FEEDBENCH_OUTPUT");
  settings.exit_file = variable("FEEDBENCH_EXIT_FILE");
  settings.delay_ns = read_delay_ns();
  settings.stamp_before = abilities.stamp_before ? knob("FEEDBENCH_STAMP", {"after", "before"}) == "before"
                                                 : knob("FEEDBENCH_STAMP", {"after"}) == "before";
  settings.parse = knob("FEEDBENCH_PARSE", {"off", "on"}) == "on";
  settings.log_messages = knob("FEEDBENCH_LOG_MESSAGES", {"false", "true"}) == "true";
  if (settings.output.empty() && settings.sink != "none") {
    end_feed(wrong_usage, "FEEDBENCH_OUTPUT names no file for what is received");
  }
  return settings;
}

void end_feed(int status, const std::string& line) {
  if (!line.empty()) std::cerr << line.substr(0, line.find('\n')) << '\n';
  std::cout.flush();
  _exit(status);
}

}  // namespace support
