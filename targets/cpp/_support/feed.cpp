#include "feed.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

namespace support {
namespace {

constexpr auto exit_file_every = std::chrono::milliseconds(250);
constexpr auto closing_at_most = std::chrono::seconds(1);  // a peer that does not answer is left after that

std::unique_ptr<Sink> open_sink(const FeedSettings& settings) {
  try {
    if (settings.sink == "stamps") return open_stamps(settings.output);
    if (settings.sink == "sqlite") return open_sqlite(settings);
    if (settings.sink == "sqlite_behind") return open_sqlite_behind(settings);
    return nullptr;
  } catch (const std::runtime_error& error) {
    end_feed(EXIT_FAILURE, "cannot write " + settings.output + ": " + error.what());
  }
}

}  // namespace

Feed::Feed(FeedSettings settings, boost::asio::io_context& context)
    : settings_(std::move(settings)),
      sink_(open_sink(settings_)),
      signals_(context, SIGTERM, SIGINT),
      exit_file_timer_(context),
      closing_timer_(context) {
  signals_.async_wait([this](auto, int) { ask_to_end(); });
  if (!settings_.exit_file.empty()) watch_exit_file();
}

void Feed::watch_exit_file() {
  exit_file_timer_.expires_after(exit_file_every);
  exit_file_timer_.async_wait([this](auto) {
    if (std::filesystem::exists(settings_.exit_file)) return ask_to_end();
    watch_exit_file();
  });
}

void Feed::ask_to_end() {
  if (ending_) return;
  ending_ = true;
  if (!close_) end_feed(EXIT_SUCCESS, "");
  closing_timer_.expires_after(closing_at_most);
  closing_timer_.async_wait([this](auto) { finish(""); });
  close_();
}

void Feed::connected(std::function<void()> close) {
  close_ = std::move(close);
  write([&] { sink_->connected(moment_after(0)); });
}

void Feed::message(Moment at, Kind kind, std::string_view payload) {
  write([&] { sink_->message(at, kind, payload); });
  if (settings_.parse && kind == Kind::text) {
    // A text that is no JSON was recorded like any other.
    [[maybe_unused]] const auto decoded = nlohmann::json::parse(payload, nullptr, /*allow_exceptions=*/false);
  }
  if (settings_.log_messages) std::cout << payload << '\n';
}

void Feed::closed(int code, std::string_view reason) {
  finish("closed: " + std::to_string(code) + (reason.empty() ? "" : " ") + std::string(reason));
}

void Feed::lost(const std::string& reason) { finish("lost: " + reason); }

void Feed::cannot_connect(const std::string& reason) {
  end_feed(EXIT_FAILURE, "cannot connect to " + settings_.url() + ": " + reason);
}

void Feed::finish(const std::string& reason) {
  const std::string told = ending_ ? "" : reason;
  write([&] { sink_->end(moment_after(0), told); });
  end_feed(told.empty() ? EXIT_SUCCESS : EXIT_FAILURE, told);
}

template <class Step>
void Feed::write(Step step) {
  if (!sink_) return;
  try {
    step();
  } catch (const std::runtime_error& error) {
    end_feed(EXIT_FAILURE, "cannot write " + settings_.output + ": " + error.what());
  }
}

}  // namespace support
