// Echo and stamp servers with Qt WebSockets.

#include <QCoreApplication>
#include <QFile>
#include <QHostAddress>
#include <QSocketNotifier>
#include <QSslCertificate>
#include <QSslConfiguration>
#include <QSslKey>
#include <QWebSocket>
#include <QWebSocketServer>
#include <string>
#include <string_view>

#include "listening_socket.hpp"
#include "options.hpp"
#include "stamp.hpp"

namespace {

std::string_view view(const QByteArray& bytes) { return {bytes.constData(), static_cast<std::size_t>(bytes.size())}; }

// Text is a QString here, so logging and JSON want its UTF-8 back.
void serve_echo(QWebSocket* socket, const support::Options& options) {
  QObject::connect(socket, &QWebSocket::textMessageReceived, socket, [socket, &options](const QString& message) {
    support::before_answer(options, options.log_messages ? view(message.toUtf8()) : std::string_view());
    socket->sendTextMessage(message);
  });
  QObject::connect(socket, &QWebSocket::binaryMessageReceived, socket, [socket, &options](const QByteArray& message) {
    support::before_answer(options, view(message));
    socket->sendBinaryMessage(message);
  });
}

void answer_stamp(QWebSocket* socket, const support::Options& options, std::string_view message) {
  support::before_answer(options, message);
  if (const auto count = support::parse_stamp(message)) {
    socket->sendTextMessage(QString::fromStdString(support::make_stamp(*count)));
  } else {
    socket->close(QWebSocketProtocol::CloseCodeDatatypeNotSupported);
  }
}

void serve_stamp(QWebSocket* socket, const support::Options& options) {
  QObject::connect(socket, &QWebSocket::textMessageReceived, socket, [socket, &options](const QString& message) {
    answer_stamp(socket, options, view(message.toUtf8()));
  });
  QObject::connect(socket, &QWebSocket::binaryMessageReceived, socket,
                   [socket, &options](const QByteArray& message) { answer_stamp(socket, options, view(message)); });
  socket->sendTextMessage(QString::fromStdString(support::make_stamp(0)));
}

void serve(QWebSocket* socket, const support::Options& options) {
  QObject::connect(socket, &QWebSocket::disconnected, socket, &QObject::deleteLater);
  const QString path = socket->requestUrl().path();
  if (path == "/echo") {
    serve_echo(socket, options);
  } else if (path == "/stamp") {
    serve_stamp(socket, options);
  } else {
    socket->close(QWebSocketProtocol::CloseCodePolicyViolated);  // the handshake is over before the path can be seen
  }
}

QSslConfiguration tls_configuration(const support::Options& options) {
  const auto chain = QSslCertificate::fromPath(QString::fromStdString(options.certificate));
  QFile file(QString::fromStdString(options.key));
  const bool opened = file.open(QIODevice::ReadOnly);
  const QSslKey key = opened ? QSslKey(&file, QSsl::Rsa) : QSslKey();
  if (chain.isEmpty() || key.isNull()) support::fail("cannot use FEEDBENCH_TLS_CERTIFICATE with FEEDBENCH_TLS_KEY");
  auto configuration = QSslConfiguration::defaultConfiguration();
  configuration.setLocalCertificateChain(chain);
  configuration.setPrivateKey(key);
  return configuration;
}

}  // namespace

int main(int argc, char** argv) {
  support::Abilities abilities{qVersion()};
  abilities.reuse_port = abilities.tls = true;
  const auto options = support::read_options(argc, argv, abilities);
  QCoreApplication application(argc, argv);
  QSocketNotifier termination(support::termination_descriptor(), QSocketNotifier::Read);
  QObject::connect(&termination, &QSocketNotifier::activated, &application, &QCoreApplication::quit);

  QWebSocketServer server("feedbench", options.tls ? QWebSocketServer::SecureMode : QWebSocketServer::NonSecureMode);
  if (options.tls) server.setSslConfiguration(tls_configuration(options));
  QObject::connect(&server, &QWebSocketServer::newConnection, &server, [&] {
    while (QWebSocket* socket = server.nextPendingConnection()) serve(socket, options);
  });
  if (!server.setSocketDescriptor(support::listening_socket(options))) {
    support::fail("cannot listen: " + server.errorString().toStdString());
  }
  return QCoreApplication::exec();
}
