#include "session.hpp"

#include <openssl/x509.h>
#include <quickfix/Application.h>
#include <quickfix/Log.h>
#include <quickfix/MessageStore.h>
#include <quickfix/SSLSocketInitiator.h>
#include <quickfix/Session.h>
#include <quickfix/SessionSettings.h>
#include <quickfix/SocketInitiator.h>
#include <quickfix/fix44/MarketDataRequest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>

namespace {

constexpr int top_of_book = 1;

// What QuickFIX tells its log alone: messages as they came, since what it hands over is in an order of its own, and the
// end of a connection that never became a session.
class SessionLog : public FIX::Log, public FIX::LogFactory {
 public:
  // The message of this number; it and those before are forgotten.
  std::string take(int number) {
    const auto found = texts_.find(number);
    if (found == texts_.end()) return {};
    std::string text = std::move(found->second);
    texts_.erase(texts_.begin(), std::next(found));
    return text;
  }

  void onIncoming(const std::string& text) override {
    static const std::string number_tag = "\00134=";
    const auto at = text.find(number_tag);
    if (at == std::string::npos) return;
    texts_[std::atoi(text.c_str() + at + number_tag.size())] = text;
  }

  void onEvent(const std::string& event) override {
    if (event == "Disconnecting" || event.rfind("SSL_connect failed", 0) == 0) is_over_ = true;
  }

  bool is_over() const { return is_over_; }

  FIX::Log* create() override { return this; }
  FIX::Log* create(const FIX::SessionID&) override { return this; }
  void destroy(FIX::Log*) override {}
  void clear() override {}
  void backup() override {}
  void onOutgoing(const std::string&) override {}

 private:
  std::map<int, std::string> texts_;  // by MsgSeqNum; what came too early waits here as it does in the session
  std::atomic<bool> is_over_{false};
};

FIX::SessionSettings settings_for(const Acceptor& acceptor, const Subscription& subscription) {
  std::stringstream text;
  text << "[DEFAULT]\nConnectionType=initiator\nHeartBtInt=30\nSocketNodelay=Y\nStartTime=00:00:00\nEndTime=00:00:00\n"
       << "ResetOnLogon=Y\nSocketConnectHost=" << acceptor.host << "\nSocketConnectPort=" << acceptor.port << '\n';
  if (!acceptor.authority.empty()) {
    text << "CertificationAuthoritiesFile=" << acceptor.authority << '\n';
  } else if (acceptor.tls) {  // without either, QuickFIX trusts everybody
    text << "CertificationAuthoritiesDirectory=" << X509_get_default_cert_dir() << '\n';
  }
  // A sender that is unique among the sessions of one machine, and short enough for Binance.
  text << "[SESSION]\nBeginString=FIX.4.4\nSenderCompID=F" << getpid() << "\nTargetCompID=" << subscription.target
       << "\nDataDictionary=" << acceptor.dictionary << '\n';
  return FIX::SessionSettings(text);
}

std::string text_of(const FIX::Message& message) {
  return message.isSetField(FIX::FIELD::Text) ? message.getField(FIX::FIELD::Text) : "";
}

}  // namespace

class MarketDataSession::Session : public FIX::NullApplication {
 public:
  Session(const Acceptor& acceptor, const Subscription& subscription, SessionEvents& events)
      : subscription_(subscription),
        events_(events),
        settings_(settings_for(acceptor, subscription)),
        id_(*settings_.getSessions().begin()) {
    if (acceptor.tls) {
      initiator_ = std::make_unique<FIX::SSLSocketInitiator>(*this, store_, settings_, log_);
    } else {
      initiator_ = std::make_unique<FIX::SocketInitiator>(*this, store_, settings_, log_);
    }
  }

  void start() { initiator_->start(); }

  void log_out() {
    auto* session = FIX::Session::lookupSession(id_);
    session->logout();
    session->next();  // now, not when the session looks at its clock
  }

  bool is_over() const { return log_.is_over(); }

 private:
  void onLogon(const FIX::SessionID& id) override {
    events_.logged_on();
    auto message = request();
    FIX::Session::sendToTarget(message, id);
  }

  // For every change from now on, of prices for that of the best alone.
  FIX44::MarketDataRequest request() const {
    FIX44::MarketDataRequest request(FIX::MDReqID("1"),
                                     FIX::SubscriptionRequestType(FIX::SubscriptionRequestType_SNAPSHOT_PLUS_UPDATES),
                                     FIX::MarketDepth(top_of_book));
    request.set(FIX::AggregatedBook(true));
    for (const char entry_type : subscription_.entry_types) {
      FIX44::MarketDataRequest::NoMDEntryTypes group;
      group.set(FIX::MDEntryType(entry_type));
      request.addGroup(group);
    }
    FIX44::MarketDataRequest::NoRelatedSym group;
    group.set(FIX::Symbol(subscription_.symbol));
    request.addGroup(group);
    return request;
  }

  void fromApp(const FIX::Message& message, const FIX::SessionID&) noexcept override {
    const auto at = events_.now();
    const auto& type = message.getHeader().getField(FIX::FIELD::MsgType);
    if (type == FIX::MsgType_MarketDataSnapshotFullRefresh || type == FIX::MsgType_MarketDataIncrementalRefresh) {
      events_.market_data(at, log_.take(std::atoi(message.getHeader().getField(FIX::FIELD::MsgSeqNum).c_str())));
    } else if (type == FIX::MsgType_MarketDataRequestReject || type == FIX::MsgType_BusinessMessageReject) {
      events_.refused(text_of(message));
    }  // else news
  }

  void fromAdmin(const FIX::Message& message, const FIX::SessionID&) noexcept override {
    const auto& type = message.getHeader().getField(FIX::FIELD::MsgType);
    if (type == FIX::MsgType_Reject) events_.refused(text_of(message));
    if (type == FIX::MsgType_Logout) events_.logged_out(text_of(message));
  }

  const Subscription subscription_;
  SessionEvents& events_;
  SessionLog log_;
  FIX::MemoryStoreFactory store_;
  const FIX::SessionSettings settings_;
  const FIX::SessionID id_;
  std::unique_ptr<FIX::Initiator> initiator_;
};

MarketDataSession::MarketDataSession(const Acceptor& acceptor, const Subscription& subscription, SessionEvents& events)
    : session_(std::make_unique<Session>(acceptor, subscription, events)) {}

MarketDataSession::~MarketDataSession() = default;

void MarketDataSession::start() { session_->start(); }

void MarketDataSession::log_out() { session_->log_out(); }

bool MarketDataSession::is_over() const { return session_->is_over(); }
