// What a relay's command line and environment ask for, and its record of what enters (spec/feed.md, Relays).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "feed_settings.hpp"
#include "moment.hpp"
#include "sink.hpp"

struct RelaySettings {
  support::FeedSettings feed;  // what it follows
  bool is_shared = true;       // one connection upstream serves all clients; else each has one of its own
  std::string listen_host;
  std::uint16_t listen_port = 0;
};

// Ends the process with a line on stderr when something makes no sense.
RelaySettings read_relay_settings(int argc, char** argv);

// A record that can't be written ends the process.
class RelayRecord {
 public:
  explicit RelayRecord(const support::FeedSettings& settings);

  // When a message was handed over; the first thing to ask for.
  support::Moment now() const { return support::moment_after(settings_.delay_ns); }

  void connected();
  void entered(support::Moment at, support::Kind kind, std::string_view payload);
  void lost(std::string_view reason);

  // Ends the process as one that was asked to.
  [[noreturn]] void end();

 private:
  template <class Step>
  void write(Step step);

  const support::FeedSettings& settings_;
  std::unique_ptr<support::Sink> sink_;  // none: nothing is recorded
};
