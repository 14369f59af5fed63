// Echo and stamp servers with WebSocket++ on Boost.Asio.
#include <boost/asio/ssl/context.hpp>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>
#include <websocketpp/server.hpp>
#include <websocketpp/version.hpp>

#include "configuration.hpp"
#include "options.hpp"
#include "stamp.hpp"

namespace asio = boost::asio;
using asio::ip::tcp;
using websocketpp::connection_hdl;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

namespace {

template <class Configuration>
class Server {
  using Endpoint = websocketpp::server<Configuration>;
  using Message = typename Endpoint::message_ptr;
  static constexpr bool encrypted = std::is_base_of_v<Encrypted, Configuration>;

 public:
  explicit Server(const support::Options& options) : options_(options) {
    endpoint_.clear_access_channels(websocketpp::log::alevel::all);
    endpoint_.clear_error_channels(websocketpp::log::elevel::all);
    endpoint_.init_asio();
    endpoint_.set_reuse_addr(true);
    endpoint_.set_validate_handler([this](connection_hdl handle) { return path_is_known(handle); });
    endpoint_.set_open_handler([this](connection_hdl handle) { greet(handle); });
    endpoint_.set_message_handler([this](connection_hdl handle, Message message) { answer(handle, *message); });
    endpoint_.set_tcp_pre_init_handler([this](connection_hdl handle) { set_nodelay(handle); });
    endpoint_.set_tcp_pre_bind_handler([this](auto acceptor) {
      boost::system::error_code error;
      if (options_.reuse_port) acceptor->set_option(ReusePort(true), error);
      return error;
    });
    if constexpr (encrypted) use_certificate();
  }

  void serve() {
    websocketpp::lib::error_code error;  // says no more than that the transport failed
    endpoint_.listen(tcp::endpoint(asio::ip::make_address(options_.host), options_.port), error);
    if (error) throw std::runtime_error(error.message() + " (is the port in use?)");
    endpoint_.start_accept();
    asio::signal_set signals(endpoint_.get_io_service(), SIGTERM, SIGINT);
    signals.async_wait([this](auto, auto) { endpoint_.stop(); });

    std::vector<std::thread> others;
    for (int i = 1; i < options_.threads; ++i) others.emplace_back([this] { endpoint_.run(); });
    endpoint_.run();
    for (auto& other : others) other.join();
  }

 private:
  std::string path(connection_hdl handle) {
    return std::string(support::path_of(endpoint_.get_con_from_hdl(handle)->get_resource()));
  }

  bool path_is_known(connection_hdl handle) {
    if (path(handle) == "/echo" || path(handle) == "/stamp") return true;
    endpoint_.get_con_from_hdl(handle)->set_status(websocketpp::http::status_code::not_found);
    return false;
  }

  void set_nodelay(connection_hdl handle) {
    boost::system::error_code gone;  // the peer has left already: reading will tell
    endpoint_.get_con_from_hdl(handle)->get_raw_socket().set_option(tcp::no_delay(true), gone);
  }

  void greet(connection_hdl handle) {
    if (path(handle) == "/stamp") send_stamp(handle, 0);
  }

  void answer(connection_hdl handle, const typename Message::element_type& message) {
    support::before_answer(options_, message.get_payload());
    websocketpp::lib::error_code gone;  // a peer that has left needs no answer
    if (path(handle) == "/echo") {
      endpoint_.send(handle, message.get_payload(), message.get_opcode(), gone);
    } else if (const auto count = support::parse_stamp(message.get_payload())) {
      send_stamp(handle, *count);
    } else {
      endpoint_.close(handle, websocketpp::close::status::unsupported_data, "", gone);
    }
  }

  void send_stamp(connection_hdl handle, std::int64_t count) {
    websocketpp::lib::error_code gone;
    endpoint_.send(handle, support::make_stamp(count), websocketpp::frame::opcode::text, gone);
  }

  void use_certificate() {
    tls_ = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    tls_->use_certificate_chain_file(options_.certificate);
    tls_->use_private_key_file(options_.key, asio::ssl::context::pem);
    endpoint_.set_tls_init_handler([this](connection_hdl) { return tls_; });
  }

  const support::Options& options_;
  Endpoint endpoint_;
  std::shared_ptr<asio::ssl::context> tls_;
};

template <class Configuration>
void serve(const support::Options& options) {
  if (options.deflate) {
    Server<WithDeflate<Configuration>>(options).serve();
  } else {
    Server<Configuration>(options).serve();
  }
}

std::string library_version() {
  using namespace websocketpp;
  return std::to_string(major_version) + '.' + std::to_string(minor_version) + '.' + std::to_string(patch_version);
}

}  // namespace

int main(int argc, char** argv) {
  support::Abilities abilities{library_version()};
  abilities.deflate = abilities.reuse_port = abilities.tls = abilities.threads = true;
  const auto options = support::read_options(argc, argv, abilities);
  try {
    options.tls ? serve<Encrypted>(options) : serve<Plain>(options);
  } catch (const std::exception& error) {
    support::fail("cannot serve on " + options.host + ':' + std::to_string(options.port) + ": " + error.what());
  }
}
