// Echo and stamp servers with uWebSockets, with the settings of its echo example.
#include <App.h>

#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "options.hpp"
#include "stamp.hpp"

namespace {

constexpr unsigned int largest_message = 100 * 1024 * 1024;
constexpr int close_unsupported_data = 1003;

struct Session {};

template <bool encrypted>
using Behavior = typename uWS::TemplatedApp<encrypted>::template WebSocketBehavior<Session>;

// As in the library's examples, which raise the defaults of 16 KiB for a message and 64 KiB for what waits to be sent.
template <bool encrypted>
Behavior<encrypted> behavior(const support::Options& options) {
  Behavior<encrypted> settings;
  settings.compression = options.deflate
                             ? uWS::CompressOptions(uWS::DEDICATED_COMPRESSOR_4KB | uWS::DEDICATED_DECOMPRESSOR)
                             : uWS::DISABLED;
  settings.maxPayloadLength = largest_message;
  settings.maxBackpressure = largest_message;
  return settings;
}

template <bool encrypted>
Behavior<encrypted> echo(const support::Options& options) {
  auto settings = behavior<encrypted>(options);
  settings.message = [&options](auto* socket, std::string_view message, uWS::OpCode opcode) {
    support::before_answer(options, message);
    socket->send(message, opcode, options.deflate);
  };
  return settings;
}

template <bool encrypted>
Behavior<encrypted> stamp(const support::Options& options) {
  auto settings = behavior<encrypted>(options);
  settings.open = [&options](auto* socket) {
    socket->send(support::make_stamp(0), uWS::OpCode::TEXT, options.deflate);
  };
  settings.message = [&options](auto* socket, std::string_view message, uWS::OpCode) {
    support::before_answer(options, message);
    if (const auto count = support::parse_stamp(message)) {
      socket->send(support::make_stamp(*count), uWS::OpCode::TEXT, options.deflate);
    } else {
      socket->end(close_unsupported_data);
    }
  };
  return settings;
}

// One loop; every thread that calls this has its own.
template <bool encrypted>
void serve(const support::Options& options) {
  uWS::SocketContextOptions tls;
  if (options.tls) {
    tls.key_file_name = options.key.c_str();
    tls.cert_file_name = options.certificate.c_str();
  }
  uWS::TemplatedApp<encrypted> app(tls);
  if (app.constructorFailed()) support::fail("cannot use FEEDBENCH_TLS_CERTIFICATE with FEEDBENCH_TLS_KEY");

  const int sharing = options.reuse_port ? LIBUS_LISTEN_DEFAULT : LIBUS_LISTEN_EXCLUSIVE_PORT;
  app.template ws<Session>("/echo", echo<encrypted>(options))
      .template ws<Session>("/stamp", stamp<encrypted>(options))
      .any("/*", [](auto* response, auto*) { response->writeStatus("404 Not Found")->end(); })
      .listen(options.host, options.port, sharing,
              [&options](const us_listen_socket_t* listener) {
                if (listener != nullptr) return;
                support::fail("cannot listen on " + options.host + ':' + std::to_string(options.port) +
                              ": the address is in use, or not this machine's");
              })
      .run();
}

}  // namespace

int main(int argc, char** argv) {
  support::Abilities abilities;
  abilities.deflate = abilities.reuse_port = abilities.reuse_port_by_default = true;
  abilities.tls = abilities.threads = true;
  const auto options = support::read_options(argc, argv, abilities);
  if (options.threads > 1 && !options.reuse_port) {
    support::fail("FEEDBENCH_THREADS above 1 wants FEEDBENCH_REUSE_PORT=on: every thread listens by itself");
  }

  // The library has no call that ends a loop from a signal's handler.
  const auto end = [](int) { std::_Exit(EXIT_SUCCESS); };
  std::signal(SIGTERM, end);
  std::signal(SIGINT, end);

  const auto serve_one = options.tls ? serve<true> : serve<false>;
  std::vector<std::thread> others;
  for (int i = 1; i < options.threads; ++i) others.emplace_back(serve_one, std::cref(options));
  serve_one(options);
  return EXIT_FAILURE;  // a loop ends only when it has nothing left to watch
}
