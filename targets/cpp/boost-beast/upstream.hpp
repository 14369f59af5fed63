// A relay's connection to the exchange, made again and again until it is left.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "connection.hpp"
#include "relay_record.hpp"

struct Message {
  std::string payload;
  bool is_binary;
};
// One piece of memory for all clients.
using SharedMessage = std::shared_ptr<const Message>;

class Upstream : public std::enable_shared_from_this<Upstream> {
 public:
  using PassOn = std::function<void(const SharedMessage&)>;

  // `tls` is nothing where the exchange is followed without.
  Upstream(asio::io_context& context, const support::FeedSettings& settings, asio::ssl::context* tls,
           RelayRecord& record, PassOn pass_on)
      : context_(context),
        settings_(settings),
        tls_(tls),
        record_(record),
        pass_on_(std::move(pass_on)),
        timer_(context) {}

  void connect() {
    if (tls_ != nullptr) {
      follow(std::make_shared<Connection<Encrypted>>(shared_from_this(), context_, *tls_));
    } else {
      follow(std::make_shared<Connection<Plain>>(shared_from_this(), context_));
    }
  }

  // For good.
  void leave() {
    left_ = true;
    timer_.cancel();
    hang_up_();
  }

 private:
  static constexpr std::chrono::milliseconds first_wait{100};  // before connecting again, doubled up to the longest
  static constexpr std::chrono::milliseconds longest_wait{2000};

  // One connection, to its end.
  template <class Stream>
  class Connection : public std::enable_shared_from_this<Connection<Stream>> {
   public:
    template <class... StreamArguments>
    explicit Connection(std::shared_ptr<Upstream> owner, StreamArguments&&... arguments)
        : owner_(std::move(owner)),
          websocket_(std::forward<StreamArguments>(arguments)...),
          resolver_(websocket_.get_executor()),
          subscriptions_(owner_->settings_.subscriptions()) {}

    void run() {
      open(websocket_, resolver_, owner_->settings_, [self = this->shared_from_this()](beast::error_code error) {
        if (error) return self->owner_->again("lost: " + error.message());
        self->owner_->connected();
        self->subscribe(0);
        self->read();
      });
    }

    void hang_up() {
      resolver_.cancel();
      beast::get_lowest_layer(websocket_).close();
    }

   private:
    void subscribe(std::size_t next) {
      if (next == subscriptions_.size()) return;
      const auto written = [self = this->shared_from_this(), next](auto error, auto) {
        if (!error) self->subscribe(next + 1);  // reading tells what went wrong
      };
      websocket_.async_write(asio::buffer(subscriptions_[next]), written);
    }

    void read() {
      websocket_.async_read(buffer_, [self = this->shared_from_this()](auto error, auto) { self->take(error); });
    }

    void take(beast::error_code error) {
      const auto at = owner_->record_.now();
      if (error) return owner_->again(ending(error));
      owner_->take(at, {beast::buffers_to_string(buffer_.cdata()), websocket_.got_binary()});
      buffer_.clear();
      read();
    }

    std::string ending(beast::error_code error) const {
      if (!was_closed(websocket_, error)) return "lost: " + error.message();
      const auto& reason = websocket_.reason();
      const int code = reason ? reason.code : no_code;
      return "closed: " + std::to_string(code) + (reason.reason.empty() ? "" : " ") + reason.reason.c_str();
    }

    const std::shared_ptr<Upstream> owner_;
    websocket::stream<Stream> websocket_;
    tcp::resolver resolver_;
    beast::flat_buffer buffer_;
    const std::vector<std::string> subscriptions_;
  };

  template <class Pointer>
  void follow(Pointer connection) {
    hang_up_ = [held = std::weak_ptr(connection)] {
      if (const auto open = held.lock()) open->hang_up();
    };
    connection->run();
  }

  void connected() {
    wait_ = first_wait;
    record_.connected();
  }

  void take(support::Moment at, Message message) {
    const auto shared = std::make_shared<const Message>(std::move(message));
    pass_on_(shared);
    record_.entered(at, shared->is_binary ? support::Kind::binary : support::Kind::text, shared->payload);
  }

  void again(const std::string& reason) {
    if (left_) return;
    std::cerr << reason << "; again in " << static_cast<double>(wait_.count()) / 1000 << " s" << std::endl;
    record_.lost(reason);
    timer_.expires_after(wait_);
    wait_ = std::min(2 * wait_, longest_wait);
    timer_.async_wait([self = shared_from_this()](auto error) {
      if (!error && !self->left_) self->connect();
    });
  }

  asio::io_context& context_;
  const support::FeedSettings& settings_;
  asio::ssl::context* const tls_;
  RelayRecord& record_;
  const PassOn pass_on_;
  asio::steady_timer timer_;
  std::chrono::milliseconds wait_ = first_wait;
  std::function<void()> hang_up_;
  bool left_ = false;
};
