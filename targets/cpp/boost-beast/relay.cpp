// Relays an exchange's feed with Boost.Beast, on both sides, on one thread: its chat server example and its client.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "upstream.hpp"

namespace http = beast::http;

namespace {

constexpr auto closing_at_most = std::chrono::seconds(1);  // who does not answer is left after that

class Relay;

// A connection to /feed. What it does not read waits in memory.
class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(Relay& relay, tcp::socket socket) : relay_(relay), websocket_(std::move(socket)) {}

  void run() {
    http::async_read(websocket_.next_layer(), buffer_, request_, beast::bind_front_handler(&Client::upgrade, held()));
  }

  void send(const SharedMessage& message) {
    waiting_.push_back(message);
    if (waiting_.size() == 1) write();
  }

  void go_away() { websocket_.async_close(websocket::close_code::going_away, [self = held()](auto) {}); }

 private:
  std::shared_ptr<Client> held() { return shared_from_this(); }

  void upgrade(beast::error_code error, std::size_t) {
    if (error) return;
    if (request_.target() != "/feed") return refuse();
    websocket_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
    accept();
  }

  void refuse() {
    refusal_.result(http::status::not_found);
    refusal_.version(request_.version());
    refusal_.keep_alive(false);
    refusal_.prepare_payload();
    http::async_write(websocket_.next_layer(), refusal_, [self = held()](auto, auto) {});
  }

  void accept();
  void leave();

  // A client has nothing to say; this answers its pings and its close.
  void read() {
    buffer_.clear();
    websocket_.async_read(buffer_, [self = held()](auto error, auto) { error ? self->leave() : self->read(); });
  }

  void write() {
    const Message& message = *waiting_.front();
    websocket_.binary(message.is_binary);
    websocket_.async_write(asio::buffer(message.payload), [self = held()](auto error, auto) {
      if (error) return;  // reading tells, too
      self->waiting_.pop_front();
      if (!self->waiting_.empty()) self->write();
    });
  }

  Relay& relay_;
  websocket::stream<beast::tcp_stream> websocket_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  http::response<http::empty_body> refusal_;
  std::deque<SharedMessage> waiting_;  // the first is being written
};

// Who is connected, and who follows what for them.
class Relay {
 public:
  Relay(asio::io_context& context, const RelaySettings& settings)
      : context_(context),
        settings_(settings),
        record_(settings_.feed),
        acceptor_(context, tcp::endpoint(asio::ip::make_address(settings.listen_host), settings.listen_port)),
        signals_(context, SIGTERM, SIGINT),
        closing_timer_(context) {
    if (settings.feed.tls) tls_.emplace(trusting(settings.feed));
  }

  void run() {
    signals_.async_wait([this](auto, int) { end(); });
    if (settings_.is_shared) {
      shared_ = follow([this](const SharedMessage& message) {
        for (const auto& client : clients_) client.first->send(message);
      });
    }
    accept();
    context_.run();
  }

  const RelaySettings& settings() const { return settings_; }

  void join(const std::shared_ptr<Client>& client) {
    std::shared_ptr<Upstream> own;
    if (!settings_.is_shared) {
      own = follow([held = std::weak_ptr(client)](const SharedMessage& message) {
        if (const auto client = held.lock()) client->send(message);
      });
    }
    clients_.emplace(client, own);
  }

  void leave(const std::shared_ptr<Client>& client) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;
    if (found->second) found->second->leave();
    clients_.erase(found);
    if (ending_ && clients_.empty()) record_.end();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      beast::error_code gone;  // the peer has left already: reading will tell
      if (!error) {
        socket.set_option(tcp::no_delay(true), gone);
        std::make_shared<Client>(*this, std::move(socket))->run();
      }
      accept();
    });
  }

  std::shared_ptr<Upstream> follow(Upstream::PassOn pass_on) {
    auto* tls = tls_ ? &*tls_ : nullptr;
    auto upstream = std::make_shared<Upstream>(context_, settings_.feed, tls, record_, std::move(pass_on));
    upstream->connect();
    return upstream;
  }

  void end() {
    ending_ = true;
    if (shared_) shared_->leave();
    if (clients_.empty()) record_.end();
    closing_timer_.expires_after(closing_at_most);
    closing_timer_.async_wait([this](auto) { record_.end(); });
    for (const auto& [client, own] : clients_) {
      if (own) own->leave();
      client->go_away();
    }
  }

  asio::io_context& context_;
  const RelaySettings& settings_;
  RelayRecord record_;
  std::optional<asio::ssl::context> tls_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer closing_timer_;
  std::map<std::shared_ptr<Client>, std::shared_ptr<Upstream>> clients_;  // with each one's own, if it has one
  std::shared_ptr<Upstream> shared_;
  bool ending_ = false;
};

void Client::accept() {
  websocket::permessage_deflate deflate;
  deflate.server_enable = relay_.settings().feed.deflate.value_or(false);
  websocket_.set_option(deflate);
  websocket_.async_accept(request_, [self = held()](auto error) {
    if (error) return;
    self->relay_.join(self);
    self->read();
  });
}

void Client::leave() { relay_.leave(held()); }

}  // namespace

int main(int argc, char** argv) {
  const auto settings = read_relay_settings(argc, argv);
  try {
    asio::io_context context(1);
    Relay relay(context, settings);
    relay.run();
  } catch (const std::exception& error) {
    const auto address = settings.listen_host + ':' + std::to_string(settings.listen_port);
    support::end_feed(EXIT_FAILURE, "cannot serve on " + address + ": " + error.what());
  }
}
