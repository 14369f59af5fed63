// Feed client with WebSocket++ on Boost.Asio.
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <string>
#include <type_traits>
#include <websocketpp/client.hpp>

#include "configuration.hpp"
#include "feed.hpp"

namespace asio = boost::asio;
namespace close_status = websocketpp::close::status;
using websocketpp::connection_hdl;

namespace {

template <class Configuration>
class Client {
  using Endpoint = websocketpp::client<Configuration>;
  using Message = typename Endpoint::message_ptr;
  static constexpr bool encrypted = std::is_base_of_v<Encrypted, Configuration>;

 public:
  Client(asio::io_context& context, support::Feed& feed) : feed_(feed), settings_(feed.settings()) {
    endpoint_.clear_access_channels(websocketpp::log::alevel::all);
    endpoint_.clear_error_channels(websocketpp::log::elevel::all);
    endpoint_.init_asio(&context);
    endpoint_.set_message_handler([this](connection_hdl, Message message) { take(*message); });
    endpoint_.set_open_handler([this](connection_hdl handle) { opened(handle); });
    endpoint_.set_fail_handler([this](connection_hdl handle) {
      feed_.cannot_connect(endpoint_.get_con_from_hdl(handle)->get_ec().message());
    });
    endpoint_.set_close_handler([this](connection_hdl handle) { closed(*endpoint_.get_con_from_hdl(handle)); });
    if constexpr (encrypted) {
      endpoint_.set_tls_init_handler([this](connection_hdl) { return trusting(); });
    }
  }

  void connect() {
    websocketpp::lib::error_code error;
    const auto connection = endpoint_.get_connection(settings_.url(), error);
    if (error) feed_.cannot_connect(error.message());
    endpoint_.connect(connection);
  }

 private:
  void take(const typename Message::element_type& message) {
    const auto at = feed_.now();
    const bool is_text = message.get_opcode() == websocketpp::frame::opcode::text;
    feed_.message(at, is_text ? support::Kind::text : support::Kind::binary, message.get_payload());
  }

  void opened(connection_hdl handle) {
    feed_.connected([this, handle] {
      websocketpp::lib::error_code gone;  // the close handler tells
      endpoint_.close(handle, close_status::normal, "", gone);
    });
    for (const auto& subscription : settings_.subscriptions()) {
      websocketpp::lib::error_code gone;
      endpoint_.send(handle, subscription, websocketpp::frame::opcode::text, gone);
    }
  }

  template <class Connection>
  void closed(const Connection& connection) {
    const auto code = connection.get_remote_close_code();
    if (code == close_status::abnormal_close || code == close_status::blank) {
      feed_.lost(connection.get_ec().message());
    }
    feed_.closed(code, connection.get_remote_close_reason());
  }

  std::shared_ptr<asio::ssl::context> trusting() {
    auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
    boost::system::error_code error;
    if (settings_.authority.empty()) {
      tls->set_default_verify_paths(error);
    } else {
      tls->load_verify_file(settings_.authority, error);
    }
    if (error) support::end_feed(EXIT_FAILURE, "cannot use FEEDBENCH_CA_FILE: " + error.message());
    tls->set_verify_mode(asio::ssl::verify_peer);
    tls->set_verify_callback(asio::ssl::host_name_verification(settings_.host));
    return tls;
  }

  support::Feed& feed_;
  const support::FeedSettings& settings_;
  Endpoint endpoint_;
};

template <class Configuration>
void follow(asio::io_context& context, support::Feed& feed) {
  Client<Configuration> client(context, feed);
  client.connect();
  context.run();
}

template <class Configuration>
void follow_as_wanted(asio::io_context& context, support::Feed& feed) {
  if (feed.settings().deflate.value_or(false)) {
    follow<WithDeflate<Configuration>>(context, feed);
  } else {
    follow<Configuration>(context, feed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  asio::io_context context(1);
  support::FeedAbilities abilities;
  abilities.deflate = true;
  support::Feed feed(support::read_feed_settings(argc, argv, "cpp/websocketpp", abilities), context);
  if (feed.settings().tls) {
    follow_as_wanted<Encrypted>(context, feed);
  } else {
    follow_as_wanted<Plain>(context, feed);
  }
}
