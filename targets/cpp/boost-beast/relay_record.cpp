#include "relay_record.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace {

constexpr int wrong_usage = 2;
constexpr int unsupported = 127;

std::uint16_t port_number(const std::string& text) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, port);
  if (problem != std::errc{} || rest != end) {
    support::end_feed(wrong_usage, "the port is " + text + ": say a number up to 65535");
  }
  return port;
}

bool is_shared() {
  const char* value = std::getenv("FEEDBENCH_UPSTREAM");
  const std::string upstream = value == nullptr ? "shared" : value;
  if (upstream != "shared" && upstream != "each") {
    support::end_feed(unsupported, "FEEDBENCH_UPSTREAM=" + upstream + ": this relay can't do that");
  }
  return upstream == "shared";
}

}  // namespace

RelaySettings read_relay_settings(int argc, char** argv) {
  if (argc != 7) {
    support::end_feed(wrong_usage, "usage: relay EXCHANGE DOMAIN PORT STREAM LISTEN_HOST LISTEN_PORT");
  }
  setenv("FEEDBENCH_SINK", "none", /*overwrite=*/0);  // unlike a client, a relay records only what it is asked to
  RelaySettings settings;
  settings.feed = support::read_feed_settings(argc - 2, argv, "cpp/boost-beast", {true, false});
  if (settings.feed.sink != "none" && settings.feed.sink != "stamps") {
    support::end_feed(unsupported, "FEEDBENCH_SINK=" + settings.feed.sink + ": a relay keeps stamps alone");
  }
  settings.is_shared = is_shared();
  settings.listen_host = argv[5];
  settings.listen_port = port_number(argv[6]);
  return settings;
}

template <class Step>
void RelayRecord::write(Step step) {
  if (settings_.sink == "none") return;
  try {
    step();
  } catch (const std::runtime_error& error) {
    support::end_feed(EXIT_FAILURE, "cannot write " + settings_.output + ": " + error.what());
  }
}

RelayRecord::RelayRecord(const support::FeedSettings& settings) : settings_(settings) {
  write([this] { sink_ = support::open_stamps(settings_.output); });
}

void RelayRecord::connected() {
  write([this] { sink_->connected(support::moment_after(0)); });
}

void RelayRecord::entered(support::Moment at, support::Kind kind, std::string_view payload) {
  write([&] { sink_->message(at, kind, payload); });
}

void RelayRecord::lost(std::string_view reason) {
  write([&] { sink_->end(support::moment_after(0), reason); });
}

void RelayRecord::end() {
  lost("");
  support::end_feed(EXIT_SUCCESS, "");
}
