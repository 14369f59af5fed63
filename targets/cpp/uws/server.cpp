// Echo and stamp servers with uWebSockets 0.14, the µWS of 2016 to 2018.
#include <uWS.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "options.hpp"
#include "stamp.hpp"

namespace {

using Socket = uWS::WebSocket<uWS::SERVER>;

constexpr int close_unsupported_data = 1003;
constexpr int close_policy_violated = 1008;

void echo(Socket* socket, std::string_view message, uWS::OpCode opcode) {
  socket->send(message.data(), message.size(), opcode);
}

void send_stamp(Socket* socket, std::int64_t count) { echo(socket, support::make_stamp(count), uWS::OpCode::TEXT); }

void stamp(Socket* socket, std::string_view message, uWS::OpCode) {
  if (const auto count = support::parse_stamp(message)) {
    send_stamp(socket, *count);
  } else {
    socket->close(close_unsupported_data);
  }
}

// What a connection serves is its user data.
struct Service {
  void (*answer)(Socket*, std::string_view, uWS::OpCode);
};
Service echo_service{echo};
Service stamp_service{stamp};

void open(Socket* socket, const std::string& target) {
  const auto path = support::path_of(target);
  if (path == "/echo") {
    socket->setUserData(&echo_service);
  } else if (path == "/stamp") {
    socket->setUserData(&stamp_service);
    send_stamp(socket, 0);
  } else {
    socket->close(close_policy_violated);  // the library has answered the handshake already
  }
}

uS::TLS::Context make_tls(const support::Options& options) {
  if (!options.tls) return nullptr;
  auto context = uS::TLS::createContext(options.certificate, options.key);
  if (!context) support::fail("cannot use FEEDBENCH_TLS_CERTIFICATE with FEEDBENCH_TLS_KEY");
  return context;
}

}  // namespace

int main(int argc, char** argv) {
  support::Abilities abilities;
  abilities.reuse_port = abilities.tls = true;
  const auto options = support::read_options(argc, argv, abilities);

  uWS::Hub hub;
  hub.onConnection([&](Socket* socket, uWS::HttpRequest request) { open(socket, request.getUrl().toString()); });
  hub.onMessage([&](Socket* socket, char* bytes, std::size_t length, uWS::OpCode opcode) {
    const std::string_view message(bytes, length);
    const auto* service = static_cast<const Service*>(socket->getUserData());
    if (service == nullptr) return;  // closing: the path was unknown
    support::before_answer(options, message);
    service->answer(socket, message, opcode);
  });
  const int sharing = options.reuse_port ? uS::REUSE_PORT : 0;
  if (!hub.listen(options.host.c_str(), options.port, make_tls(options), sharing)) {
    support::fail("cannot listen on " + options.host + ':' + std::to_string(options.port) +
                  ": the address is in use, or not this machine's");
  }

  // The library has no call that ends a loop from a signal's handler.
  const auto end = [](int) { std::_Exit(EXIT_SUCCESS); };
  std::signal(SIGTERM, end);
  std::signal(SIGINT, end);
  hub.run();
  return EXIT_FAILURE;  // the loop ends only when it has nothing left to watch
}
