// Feed client with Boost.Beast: its asynchronous client example, on one thread.
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "feed.hpp"

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;

namespace {

using Plain = beast::tcp_stream;
using Encrypted = beast::ssl_stream<beast::tcp_stream>;

constexpr int no_code = 1005;  // RFC 6455, section 7.1.5: a close frame without a code

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
    resolver_.async_resolve(settings_.host, settings_.port, [this](auto error, auto found) {
      if (error) feed_.cannot_connect(error.message());
      beast::get_lowest_layer(websocket_).async_connect(found, [this](auto error, auto) {
        if (error) feed_.cannot_connect(error.message());
        connected();
      });
    });
  }

 private:
  void connected() {
    if constexpr (std::is_same_v<Stream, Encrypted>) {
      auto& tls = websocket_.next_layer();
      SSL_set_tlsext_host_name(tls.native_handle(), settings_.host.c_str());
      tls.set_verify_callback(asio::ssl::host_name_verification(settings_.host));
      tls.async_handshake(asio::ssl::stream_base::client, [this](auto error) {
        if (error) feed_.cannot_connect(error.message());
        shake_hands();
      });
    } else {
      shake_hands();
    }
  }

  void shake_hands() {
    websocket_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::client));
    if (settings_.deflate) {
      websocket::permessage_deflate deflate;
      deflate.client_enable = *settings_.deflate;
      websocket_.set_option(deflate);
    }
    websocket_.async_handshake(settings_.host + ':' + settings_.port, settings_.stream, [this](auto error) {
      if (error) feed_.cannot_connect(error.message());
      feed_.connected([this] { websocket_.async_close(websocket::close_code::normal, [](auto) {}); });
      subscribe(0);
      read();
    });
  }

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
    // After the close frame an exchange may leave out TLS's own farewell.
    if (error == websocket::error::closed || (error && reason)) {
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

asio::ssl::context trusting(const support::FeedSettings& settings) {
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_verify_mode(asio::ssl::verify_peer);
  beast::error_code error;
  if (settings.authority.empty()) {
    tls.set_default_verify_paths(error);
  } else {
    tls.load_verify_file(settings.authority, error);
  }
  if (error) support::end_feed(EXIT_FAILURE, "cannot use FEEDBENCH_CA_FILE: " + error.message());
  return tls;
}

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
