// One connection, from the upgrade request to the end: Beast's asynchronous server example with two paths.
#pragma once

#include <boost/asio/dispatch.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "options.hpp"
#include "stamp.hpp"

namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;

using Plain = beast::tcp_stream;
using Encrypted = beast::ssl_stream<beast::tcp_stream>;

// Handlers run on the stream's executor, a strand, so they never overlap, whatever the number of threads.
template <class Stream>
class Session : public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <class... StreamArguments>
  explicit Session(const support::Options& options, StreamArguments&&... arguments)
      : options_(options), websocket_(std::forward<StreamArguments>(arguments)...) {}

  void run() { boost::asio::dispatch(websocket_.get_executor(), handler(&Session::start)); }

 private:
  template <class Method>
  auto handler(Method method) {
    return beast::bind_front_handler(method, this->shared_from_this());
  }

  void start() {
    if constexpr (std::is_same_v<Stream, Encrypted>) {
      websocket_.next_layer().async_handshake(boost::asio::ssl::stream_base::server,
                                              handler(&Session::read_request_if));
    } else {
      read_request();
    }
  }

  void read_request_if(beast::error_code error) {
    if (!error) read_request();
  }

  void read_request() { http::async_read(websocket_.next_layer(), buffer_, request_, handler(&Session::upgrade)); }

  void upgrade(beast::error_code error, std::size_t) {
    if (error) return;
    const auto path = support::path_of({request_.target().data(), request_.target().size()});
    is_stamp_ = path == "/stamp";
    if (!is_stamp_ && path != "/echo") return refuse();

    websocket_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
    websocket::permessage_deflate deflate;
    deflate.server_enable = options_.deflate;
    websocket_.set_option(deflate);
    websocket_.async_accept(request_, handler(&Session::accepted));
  }

  void refuse() {
    refusal_.result(http::status::not_found);
    refusal_.version(request_.version());
    refusal_.keep_alive(false);
    refusal_.prepare_payload();
    http::async_write(websocket_.next_layer(), refusal_, handler(&Session::ended));
  }

  void accepted(beast::error_code error) {
    if (error) return;
    buffer_.clear();
    if (is_stamp_) return write_stamp(0);
    read();
  }

  void read() { websocket_.async_read(buffer_, handler(&Session::answer)); }

  void answer(beast::error_code error, std::size_t) {
    if (error) return;
    const std::string_view message(static_cast<const char*>(buffer_.cdata().data()), buffer_.size());
    support::before_answer(options_, message);
    if (is_stamp_) {
      const auto count = support::parse_stamp(message);
      return count ? write_stamp(*count) : close();
    }
    websocket_.text(websocket_.got_text());
    websocket_.async_write(buffer_.cdata(), handler(&Session::read_next));
  }

  void write_stamp(std::int64_t count) {
    stamp_ = support::make_stamp(count);
    websocket_.text(true);
    websocket_.async_write(boost::asio::buffer(stamp_), handler(&Session::read_next));
  }

  void read_next(beast::error_code error, std::size_t) {
    if (error) return;
    buffer_.clear();
    read();
  }

  void close() { websocket_.async_close(websocket::close_code::unknown_data, handler(&Session::closed)); }

  // The session's last reference goes with the handler.
  void closed(beast::error_code) {}
  void ended(beast::error_code, std::size_t) {}

  const support::Options& options_;
  websocket::stream<Stream> websocket_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  http::response<http::empty_body> refusal_;
  std::string stamp_;
  bool is_stamp_ = false;
};
