// Feed client over FIX 4.4 with QuickFIX, whose thread takes what comes; the main one waits for the end.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <regex>
#include <string>
#include <thread>

#include "feed.hpp"
#include "session.hpp"

namespace {

constexpr auto tick = std::chrono::milliseconds(50);

// /TARGETCOMPID/SYMBOL/ENTRYTYPES, where a symbol may have a slash in it.
Subscription read_stream(const std::string& stream) {
  static const std::regex form(R"(/?([^/]+)/(.+)/(\w(?:,\w)*))");
  std::smatch parts;
  if (!std::regex_match(stream, parts, form)) {
    support::end_feed(2, "the stream " + stream + " is not /TARGETCOMPID/SYMBOL/ENTRYTYPES");
  }
  Subscription subscription{parts[1], parts[2], {}};
  for (const char letter : parts[3].str()) {
    if (letter != ',') subscription.entry_types.push_back(letter);
  }
  return subscription;
}

// Binance's groups are not the standard's, and a group can't be read without its dictionary. Both lie beside the
// program.
std::string dictionary_for(const std::string& target) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return folder / (target == "SPOT" ? "binance.xml" : "standard.xml");
}

class Client : private SessionEvents {
 public:
  Client(support::Feed& feed, boost::asio::io_context& context, const Subscription& wanted)
      : feed_(feed), context_(context), session_(acceptor(feed.settings(), wanted.target), wanted, *this) {}

  [[noreturn]] void run() {
    session_.start();
    for (;;) {
      std::this_thread::sleep_for(tick);
      const std::lock_guard lock(mutex_);
      context_.poll();  // signals, the exit file
      if (!session_.is_over()) continue;
      if (!logged_on_) feed_.cannot_connect(logout_.value_or("no session came about"));
      feed_.finish(logout_.value_or("lost: it hung up"));
    }
  }

 private:
  static Acceptor acceptor(const support::FeedSettings& settings, const std::string& target) {
    return {settings.host, settings.port, settings.tls, settings.authority, dictionary_for(target)};
  }

  void logged_on() override {
    const std::lock_guard lock(mutex_);
    logged_on_ = true;
    feed_.connected([this] { session_.log_out(); });
  }

  support::Moment now() const override { return feed_.now(); }

  void market_data(support::Moment at, const std::string& message) override {
    const std::lock_guard lock(mutex_);
    feed_.message(at, support::Kind::text, message);
  }

  void refused(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    feed_.lost("refused: " + text);
  }

  void logged_out(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    logout_ = text.empty() ? "closed: logout" : "closed: logout " + text;
  }

  support::Feed& feed_;
  boost::asio::io_context& context_;
  MarketDataSession session_;
  std::mutex mutex_;  // around the feed and what follows
  bool logged_on_ = false;
  std::optional<std::string> logout_;  // what the other side said with it
};

}  // namespace

int main(int argc, char** argv) {
  boost::asio::io_context context(1);
  const auto settings = support::read_feed_settings(argc, argv, "cpp/quickfix", {false, false, "fix"});
  const auto wanted = read_stream(settings.stream);
  support::Feed feed(settings, context);
  try {
    Client(feed, context, wanted).run();
  } catch (const std::exception& problem) {
    feed.cannot_connect(problem.what());
  }
}
