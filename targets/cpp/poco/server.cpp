// Echo and stamp servers with Poco's HTTPServer, which serves each connection on a thread of its pool.
#include <Poco/AutoPtr.h>
#include <Poco/Buffer.h>
#include <Poco/Environment.h>
#include <Poco/Net/Context.h>
#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/SecureServerSocket.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/WebSocket.h>
#include <Poco/ThreadPool.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "options.hpp"
#include "stamp.hpp"

namespace net = Poco::Net;

namespace {

constexpr int most_connections = 1024;  // each keeps a thread of the pool; more wait in Poco's queue
constexpr int largest_message = 64 << 20;

// What the WebSocket class leaves to its user: it receives frames, so fragments are joined and control frames answered.
class Connection {
 public:
  explicit Connection(net::WebSocket& socket) : socket_(socket) {
    socket_.setMaxPayloadSize(largest_message);
    socket_.setReceiveTimeout(Poco::Timespan());  // as long as the peer likes
  }

  // The next whole message; false when the peer is done. `opcode` is a frame opcode of Poco's.
  bool receive(std::string_view& message, int& opcode) {
    message_.resize(0);
    for (bool in_message = false;;) {
      const std::size_t before = message_.size();
      int flags = 0;
      const int received = socket_.receiveFrame(message_, flags);
      if (received <= 0 && flags == 0) return false;  // hung up
      const int frame_opcode = flags & net::WebSocket::FRAME_OP_BITMASK;
      if (frame_opcode >= net::WebSocket::FRAME_OP_CLOSE && frame_opcode <= net::WebSocket::FRAME_OP_PONG) {
        if (!answer_control(frame_opcode, before)) return false;
        continue;
      }
      const bool continues = frame_opcode == net::WebSocket::FRAME_OP_CONT;
      if (frame_opcode > net::WebSocket::FRAME_OP_BINARY || continues != in_message) {
        throw net::WebSocketException("a message inside a message, or the rest of none");
      }
      if (!continues) opcode = frame_opcode;
      in_message = true;
      if (message_.size() > largest_message) throw net::WebSocketException("message too large");
      if ((flags & net::WebSocket::FRAME_FLAG_FIN) != 0) break;
    }
    message = {message_.begin(), message_.size()};
    return true;
  }

  void send(std::string_view message, int opcode) {
    socket_.sendFrame(message.data(), static_cast<int>(message.size()), net::WebSocket::FRAME_FLAG_FIN | opcode);
  }

 private:
  // A control frame's payload lies behind what there is of the message so far.
  bool answer_control(int opcode, std::size_t start) {
    const std::string_view payload(message_.begin() + start, message_.size() - start);
    if (opcode == net::WebSocket::FRAME_OP_PING) send(payload, net::WebSocket::FRAME_OP_PONG);
    if (opcode == net::WebSocket::FRAME_OP_CLOSE) send(payload, net::WebSocket::FRAME_OP_CLOSE);
    message_.resize(start);
    return opcode != net::WebSocket::FRAME_OP_CLOSE;
  }

  net::WebSocket& socket_;
  Poco::Buffer<char> message_{0};
};

void echo(const support::Options& options, net::WebSocket& socket) {
  Connection connection(socket);
  std::string_view message;
  int opcode = 0;
  while (connection.receive(message, opcode)) {
    support::before_answer(options, message);
    connection.send(message, opcode);
  }
}

void stamp(const support::Options& options, net::WebSocket& socket) {
  Connection connection(socket);
  connection.send(support::make_stamp(0), net::WebSocket::FRAME_OP_TEXT);
  std::string_view message;
  int opcode = 0;
  while (connection.receive(message, opcode)) {
    support::before_answer(options, message);
    const auto count = support::parse_stamp(message);
    if (!count) return static_cast<void>(socket.shutdown(net::WebSocket::WS_PAYLOAD_NOT_ACCEPTABLE));
    connection.send(support::make_stamp(*count), net::WebSocket::FRAME_OP_TEXT);
  }
}

using Service = void (*)(const support::Options&, net::WebSocket&);

class Handler : public net::HTTPRequestHandler {
 public:
  Handler(const support::Options& options, Service service) : options_(options), service_(service) {}

  void handleRequest(net::HTTPServerRequest& request, net::HTTPServerResponse& response) override {
    try {
      net::WebSocket socket(request, response);
      serve(socket);
    } catch (const net::WebSocketException& refusal) {
      const bool is_version = refusal.code() == net::WebSocket::WS_ERR_HANDSHAKE_UNSUPPORTED_VERSION;
      if (is_version) response.set("Sec-WebSocket-Version", net::WebSocket::WEBSOCKET_VERSION);
      response.setStatusAndReason(net::HTTPResponse::HTTP_BAD_REQUEST);
      response.setContentLength(0);
      response.send();
    }
  }

 private:
  void serve(net::WebSocket& socket) {
    try {
      service_(options_, socket);
    } catch (const net::WebSocketException&) {
      socket.shutdown(net::WebSocket::WS_PROTOCOL_ERROR);
    } catch (const Poco::Exception&) {
      // The connection broke; the socket closes as it goes out of scope.
    }
  }

  const support::Options& options_;
  Service service_;
};

class NotFound : public net::HTTPRequestHandler {
  void handleRequest(net::HTTPServerRequest&, net::HTTPServerResponse& response) override {
    response.setStatusAndReason(net::HTTPResponse::HTTP_NOT_FOUND);
    response.setContentLength(0);
    response.send();
  }
};

class Handlers : public net::HTTPRequestHandlerFactory {
 public:
  explicit Handlers(const support::Options& options) : options_(options) {}

  net::HTTPRequestHandler* createRequestHandler(const net::HTTPServerRequest& request) override {
    const auto path = support::path_of(request.getURI());
    if (path == "/echo") return new Handler(options_, echo);
    if (path == "/stamp") return new Handler(options_, stamp);
    return new NotFound;
  }

 private:
  const support::Options& options_;
};

net::ServerSocket listen_on(const support::Options& options) {
  const net::SocketAddress address(options.host, options.port);
  if (!options.tls) {
    net::ServerSocket socket;
    socket.bind(address, /*reuseAddress=*/true, options.reuse_port);
    socket.listen();
    return socket;
  }
  const net::Context::Ptr context = new net::Context(net::Context::TLS_SERVER_USE, options.key, options.certificate,
                                                     /*caLocation=*/"", net::Context::VERIFY_NONE);
  net::SecureServerSocket socket(context);
  socket.bind(address, /*reuseAddress=*/true, options.reuse_port);
  socket.listen();
  return socket;
}

std::string library_version() {
  const Poco::UInt32 version = Poco::Environment::libraryVersion();
  return std::to_string(version >> 24) + '.' + std::to_string(version >> 16 & 0xFF) + '.' +
         std::to_string(version >> 8 & 0xFF);
}

}  // namespace

int main(int argc, char** argv) {
  support::Abilities abilities{library_version()};
  abilities.reuse_port = abilities.tls = true;
  const auto options = support::read_options(argc, argv, abilities);
  support::block_termination();
  try {
    Poco::ThreadPool threads(/*minCapacity=*/2, most_connections);
    Poco::AutoPtr<net::HTTPServerParams> parameters = new net::HTTPServerParams;
    parameters->setMaxThreads(most_connections);
    net::HTTPServer server(new Handlers(options), threads, listen_on(options), parameters);
    server.start();
    support::wait_for_termination();
    std::quick_exit(EXIT_SUCCESS);  // threads that wait for their clients' next messages would not end by themselves
  } catch (const Poco::Exception& error) {
    support::fail("cannot serve on " + options.host + ':' + std::to_string(options.port) + ": " + error.displayText());
  }
}
