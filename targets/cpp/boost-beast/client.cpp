// Feed client with Boost.Beast: its asynchronous client example, on one thread.
#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>
#include <vector>

#include "connection.hpp"
#include "feed.hpp"

namespace {

template <class Stream>
class Client {
 public:
  template <class... StreamArguments>
  explicit Client(support::Feed& feed, StreamArguments&&... arguments)
      : feed_(feed),
        settings_(feed.settings()),
        websocket_(std::forward<StreamArguments>(arguments)...),
        resolver_(websocket_.get_executor()),
        subscriptions_(settings_.subscriptions()) {}

  void run() {
    open(websocket_, resolver_, settings_, [this](beast::error_code error) {
      if (error) feed_.cannot_connect(error.message());
      feed_.connected([this] { websocket_.async_close(websocket::close_code::normal, [](auto) {}); });
      subscribe(0);
      read();
    });
  }

 private:
  void subscribe(std::size_t next) {
    if (next == subscriptions_.size()) return;
    websocket_.async_write(asio::buffer(subscriptions_[next]), [this, next](auto error, auto) {
      if (!error) subscribe(next + 1);  // reading tells what went wrong
    });
  }

  void read() {
    if (settings_.stamp_before) before_ = feed_.now();
    websocket_.async_read(buffer_, [this](auto error, auto) { take(error); });
  }

  void take(beast::error_code error) {
    const auto at = settings_.stamp_before ? before_ : feed_.now();
    const auto& reason = websocket_.reason();
    if (was_closed(websocket_, error)) {
      feed_.closed(reason ? reason.code : no_code, {reason.reason.data(), reason.reason.size()});
    }
    if (error) feed_.lost(error.message());
    const auto kind = websocket_.got_binary() ? support::Kind::binary : support::Kind::text;
    feed_.message(at, kind, {static_cast<const char*>(buffer_.cdata().data()), buffer_.size()});
    buffer_.clear();
    read();
  }

  support::Feed& feed_;
  const support::FeedSettings& settings_;
  websocket::stream<Stream> websocket_;
  tcp::resolver resolver_;
  beast::flat_buffer buffer_;
  std::vector<std::string> subscriptions_;
  support::Moment before_{};
};

template <class Stream, class... StreamArguments>
void follow(asio::io_context& context, support::Feed& feed, StreamArguments&... arguments) {
  Client<Stream> client(feed, context, arguments...);
  client.run();
  context.run();
}

}  // namespace

int main(int argc, char** argv) {
  asio::io_context context(1);
  support::Feed feed(support::read_feed_settings(argc, argv, "cpp/boost-beast", {true, true}), context);
  if (feed.settings().tls) {
    auto tls = trusting(feed.settings());
    follow<Encrypted>(context, feed, tls);
  } else {
    follow<Plain>(context, feed);
  }
}
