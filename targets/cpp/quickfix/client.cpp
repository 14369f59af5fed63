// Feed client over FIX 4.4 with QuickFIX, polled on one thread.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <regex>
#include <string>

#include "feed.hpp"
#include "session.hpp"

namespace {

constexpr auto tick = std::chrono::milliseconds(100);

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
    for (auto next_tick = std::chrono::steady_clock::now();;) {
      session_.wait(std::chrono::duration<double>(tick).count());
      if (std::chrono::steady_clock::now() < next_tick) continue;
      next_tick = std::chrono::steady_clock::now() + tick;
      context_.poll();  // signals, the exit file
      session_.keep_alive();
    }
  }

 private:
  static Acceptor acceptor(const support::FeedSettings& settings, const std::string& target) {
    return {settings.host, settings.port, settings.tls, settings.authority, dictionary_for(target)};
  }

  void logged_on() override {
    logged_on_ = true;
    feed_.connected([this] { session_.log_out(); });
  }

  support::Moment now() const override { return feed_.now(); }

  void market_data(support::Moment at, const std::string& message) override {
    feed_.message(at, support::Kind::text, message);
  }

  void refused(const std::string& text) override { feed_.lost("refused: " + text); }

  void logged_out(const std::string& text) override {
    ending_ = text.empty() ? "closed: logout" : "closed: logout " + text;
  }

  void disconnected() override {
    if (!logged_on_) feed_.cannot_connect(ending_);
    feed_.finish(ending_);
  }

  support::Feed& feed_;
  boost::asio::io_context& context_;
  MarketDataSession session_;
  bool logged_on_ = false;
  std::string ending_ = "lost: it hung up";
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
