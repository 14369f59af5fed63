// One connection to one exchange, from the command line to the exit status: what the C++ feed clients share
// (spec/feed.md). They run on one thread, of Boost.Asio.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "feed_settings.hpp"
#include "moment.hpp"
#include "sink.hpp"

namespace support {

class Feed {
 public:
  // Opens the sink; ends the process when its file can't be had.
  Feed(FeedSettings settings, boost::asio::io_context& context);

  const FeedSettings& settings() const { return settings_; }

  // The handshake is done. `close` starts the closing one, when SIGTERM or the exit file ask for the end.
  void connected(std::function<void()> close);

  // When a message was handed over; the first thing that a handler asks for.
  Moment now() const { return moment_after(settings_.delay_ns); }

  void message(Moment at, Kind kind, std::string_view payload);

  // How the connection ended: by a close frame, without one, or before it began.
  [[noreturn]] void closed(int code, std::string_view reason);
  [[noreturn]] void lost(const std::string& reason);
  [[noreturn]] void cannot_connect(const std::string& reason);

  // The same for a reason in its own words; they are not told of an end that was asked for.
  [[noreturn]] void finish(const std::string& reason);

 private:
  void watch_exit_file();
  void ask_to_end();

  template <class Step>
  void write(Step step);

  const FeedSettings settings_;
  std::unique_ptr<Sink> sink_;  // none: the sink of that name
  std::function<void()> close_;
  bool ending_ = false;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer exit_file_timer_;
  boost::asio::steady_timer closing_timer_;
};

}  // namespace support
