// Keeps what was received; after each call that is with the kernel. What goes wrong is thrown as a std::runtime_error.
#pragma once

#include <memory>
#include <string_view>

#include "feed_settings.hpp"
#include "moment.hpp"

namespace support {

enum class Kind : std::uint8_t { text = 1, binary = 2 };

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void connected(Moment) {}
  virtual void message(Moment at, Kind kind, std::string_view payload) = 0;
  // The last call; an empty reason for an end that was asked for.
  virtual void end(Moment at, std::string_view reason) = 0;
};

std::unique_ptr<Sink> open_stamps(const std::string& path);
std::unique_ptr<Sink> open_sqlite(const FeedSettings& settings);
std::unique_ptr<Sink> open_sqlite_behind(const FeedSettings& settings);

}  // namespace support
