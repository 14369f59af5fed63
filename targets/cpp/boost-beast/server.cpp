// Echo and stamp servers with Boost.Beast.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/version.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "session.hpp"

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

namespace {

asio::ssl::context make_tls(const support::Options& options) {
  asio::ssl::context tls(asio::ssl::context::tls_server);
  if (options.tls) {
    tls.use_certificate_chain_file(options.certificate);
    tls.use_private_key_file(options.key, asio::ssl::context::pem);
  }
  return tls;
}

class Listener {
 public:
  Listener(asio::io_context& context, const support::Options& options)
      : options_(options), tls_(make_tls(options)), context_(context), acceptor_(context) {
    const tcp::endpoint endpoint(asio::ip::make_address(options.host), options.port);
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(asio::socket_base::reuse_address(true));
    if (options.reuse_port) acceptor_.set_option(ReusePort(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
  }

  void accept() {
    acceptor_.async_accept(asio::make_strand(context_), [this](beast::error_code error, tcp::socket socket) {
      if (!error) serve(std::move(socket));
      accept();
    });
  }

 private:
  void serve(tcp::socket socket) {
    beast::error_code gone;  // the peer has left already: reading will tell
    socket.set_option(tcp::no_delay(true), gone);
    if (options_.tls) {
      std::make_shared<Session<Encrypted>>(options_, std::move(socket), tls_)->run();
    } else {
      std::make_shared<Session<Plain>>(options_, std::move(socket))->run();
    }
  }

  const support::Options& options_;
  asio::ssl::context tls_;
  asio::io_context& context_;
  tcp::acceptor acceptor_;
};

void serve(const support::Options& options) {
  asio::io_context context(options.threads);
  Listener listener(context, options);
  listener.accept();
  asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](beast::error_code, int) { context.stop(); });

  std::vector<std::thread> others;
  for (int i = 1; i < options.threads; ++i) others.emplace_back([&] { context.run(); });
  context.run();
  for (auto& other : others) other.join();
}

std::string boost_version() {
  return std::to_string(BOOST_VERSION / 100000) + '.' + std::to_string(BOOST_VERSION / 100 % 1000) + '.' +
         std::to_string(BOOST_VERSION % 100);
}

}  // namespace

int main(int argc, char** argv) {
  support::Abilities abilities{boost_version()};
  abilities.deflate = abilities.reuse_port = abilities.tls = abilities.threads = true;
  const auto options = support::read_options(argc, argv, abilities);
  try {
    serve(options);
  } catch (const std::exception& error) {
    support::fail("cannot serve on " + options.host + ':' + std::to_string(options.port) + ": " + error.what());
  }
}
