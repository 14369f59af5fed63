// A connection to an exchange, as in Beast's asynchronous client example: address, TLS where it is wanted, WebSocket.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <string>
#include <type_traits>

#include "feed_settings.hpp"

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;

using Plain = beast::tcp_stream;
using Encrypted = beast::ssl_stream<beast::tcp_stream>;

inline asio::ssl::context trusting(const support::FeedSettings& settings) {
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

template <class Stream, class Done>
void shake_hands(websocket::stream<Stream>& stream, const support::FeedSettings& settings, Done done) {
  stream.set_option(websocket::stream_base::timeout::suggested(beast::role_type::client));
  if (settings.deflate) {
    websocket::permessage_deflate deflate;
    deflate.client_enable = *settings.deflate;
    stream.set_option(deflate);
  }
  stream.async_handshake(settings.host + ':' + settings.port, settings.stream, done);
}

// Calls `done` with the first error, or with none; it keeps alive what is referred to here.
template <class Stream, class Done>
void open(websocket::stream<Stream>& stream, tcp::resolver& resolver, const support::FeedSettings& settings,
          Done done) {
  resolver.async_resolve(settings.host, settings.port, [&stream, &settings, done](auto error, auto found) {
    if (error) return done(error);
    beast::get_lowest_layer(stream).async_connect(found, [&stream, &settings, done](auto error, auto) {
      if (error) return done(error);
      if constexpr (std::is_same_v<Stream, Encrypted>) {
        auto& tls = stream.next_layer();
        SSL_set_tlsext_host_name(tls.native_handle(), settings.host.c_str());
        tls.set_verify_callback(asio::ssl::host_name_verification(settings.host));
        tls.async_handshake(asio::ssl::stream_base::client, [&stream, &settings, done](auto error) {
          if (error) return done(error);
          shake_hands(stream, settings, done);
        });
      } else {
        shake_hands(stream, settings, done);
      }
    });
  });
}

constexpr int no_code = 1005;  // RFC 6455, section 7.1.5: a close frame without a code

// Whether reading ended by a close frame, after which an exchange may leave out TLS's own farewell.
template <class Stream>
bool was_closed(const websocket::stream<Stream>& stream, beast::error_code error) {
  return error == websocket::error::closed || (error && stream.reason());
}
