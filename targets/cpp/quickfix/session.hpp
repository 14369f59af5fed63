// One session of QuickFIX's that follows one symbol's market data. A part by itself, since QuickFIX's headers have
// exception specifications that C++17 did away with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "moment.hpp"

struct Subscription {
  std::string target;  // the acceptor's CompID
  std::string symbol;
  std::vector<char> entry_types;
};

struct Acceptor {
  std::string host;
  std::string port;
  bool tls;
  std::string authority;   // PEM file; empty: the system's authorities
  std::string dictionary;  // XML file
};

// What happens to a session, told in its own thread.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  virtual void logged_on() = 0;
  virtual support::Moment now() const = 0;
  virtual void market_data(support::Moment at, const std::string& message) = 0;
  virtual void refused(const std::string& text) = 0;
  virtual void logged_out(const std::string& text) = 0;  // by the other side, which is answered
};

class MarketDataSession {
 public:
  // Throws std::exception for what QuickFIX can't use, such as a file of authorities that is not there.
  MarketDataSession(const Acceptor& acceptor, const Subscription& subscription, SessionEvents& events);
  ~MarketDataSession();

  // Connects, and follows the market in a thread of its own.
  void start();

  void log_out();

  // Whether there was a connection, or a try, and is none any more.
  bool is_over() const;

 private:
  class Session;
  std::unique_ptr<Session> session_;
};
