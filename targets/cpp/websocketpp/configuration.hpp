// The library's own server configurations, plain and TLS, each without and with permessage-deflate: what it can do is
// chosen when it is compiled.
#pragma once

#include <websocketpp/config/asio.hpp>
#include <websocketpp/config/asio_no_tls.hpp>
#include <websocketpp/extensions/permessage_deflate/enabled.hpp>

using Plain = websocketpp::config::asio;
using Encrypted = websocketpp::config::asio_tls;

template <class Base>
struct WithDeflate : Base {
  using type = WithDeflate;
  struct permessage_deflate_config {};
  using permessage_deflate_type = websocketpp::extensions::permessage_deflate::enabled<permessage_deflate_config>;
};
