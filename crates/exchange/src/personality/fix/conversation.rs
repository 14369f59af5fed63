//! What a session works off: a client's messages in their turn, and who answers each.

use super::client::Client;
use super::maintenance::{Announcement, Maintenance};
use super::message_limit::MOST_MESSAGES;
use super::request::{Ask, Request};
use super::subscription::refuse_market_data;
use super::{echo, Dialect, Fix};
use crate::encode::Encode;
use crate::market::Market;
use crate::personality::Reply;
use crate::time::ExchangeClock;
use feedbench_wire::fix::session::{Event as Happened, Now};
use feedbench_wire::fix::time::UtcTime;

/// The time of a session.
pub fn session_now(clock: &ExchangeClock, now_ns: u64) -> Now {
    Now {
        utc: UtcTime {
            unix_ns: i64::try_from(clock.unix_ns(now_ns)).unwrap_or(i64::MAX),
        },
        monotonic_ns: now_ns,
    }
}

impl Fix {
    /// Lets a session work off what it was fed and what is due.
    pub(super) fn poll(
        &mut self,
        market: &Market,
        client: &mut Client,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let now = session_now(market.clock(), now_ns);
        announce(client, now, now_ns);
        let mut goes_on = true;
        loop {
            let request = match client.session.poll(now) {
                Ok(None) => break,
                Ok(Some(Happened::Application(message))) => {
                    if self.dialect == Dialect::Acceptance && echo::is_echoed(message.msg_type()) {
                        let seen = self.echoed.entry(client.seat).or_default();
                        let msg_type = String::from_utf8_lossy(message.msg_type()).into_owned();
                        if let Some(body) = echo::body(&message, seen) {
                            client.send(&msg_type, now, &body);
                        }
                        continue;
                    }
                    Request::of(&message)
                }
                Ok(Some(Happened::LoggedOn)) => {
                    self.echoed.remove(&client.seat);
                    let after_s = self.maintenance_s;
                    client.maintenance = after_s.map(|after_s| Maintenance::new(now_ns, after_s));
                    continue;
                }
                // A store that fails: numbers could be used twice.
                Ok(Some(Happened::Disconnect(_))) | Err(_) => {
                    goes_on = false;
                    break;
                }
                Ok(Some(_)) => continue,
            };
            if !is_within_limit(client, now_ns) {
                break;
            }
            self.answer(market, client, &request, now_ns, replies);
            if client.awaiting.is_some() {
                // What comes next may be about this order: it is read when the market has told of it.
                break;
            }
        }
        if !is_within_limit(client, now_ns) {
            let text = format!("More than {MOST_MESSAGES} messages in a minute");
            // Fails only when the session has ended meanwhile.
            let _ = client.session.logout(&text, now);
            goes_on = false;
        }
        if !client.session.output().is_empty() {
            replies.push(Reply::Output);
        }
        if !goes_on {
            replies.push(Reply::End);
        }
    }

    fn answer(
        &mut self,
        market: &Market,
        client: &mut Client,
        request: &Request,
        now_ns: u64,
        replies: &mut Vec<Reply>,
    ) {
        let now = session_now(market.clock(), now_ns);
        match &request.ask {
            Ask::MarketData(wish) if self.dialect != Dialect::Acceptance => {
                if let Err(refusal) = self.market_data(market, client, wish, now, replies) {
                    refuse_market_data(client, &wish.id, &refusal, now);
                }
            }
            Ask::Securities { id, kind, symbol } if self.dialect != Dialect::Acceptance => {
                self.securities(market, client, (id, *kind, symbol.as_deref()), request, now);
            }
            Ask::Limits { id } => match &client.limit {
                Some(limit) => {
                    let mut body = Vec::new();
                    limit.write(id, &mut body);
                    client.send("XLR", now, &body);
                }
                None => reject_unsupported(client, request, now),
            },
            Ask::Order(new) if self.dialect.takes_orders() => {
                self.order(market, client, new, now_ns, replies);
            }
            Ask::Cancel { id, original } if self.dialect.takes_orders() => {
                self.cancel(client, id, original, now_ns, replies);
            }
            _ => reject_unsupported(client, request, now),
        }
    }
}

/// Says what is due before a maintenance, and with the last of it goodbye.
fn announce(client: &mut Client, now: Now, now_ns: u64) {
    let due = client.maintenance.as_mut();
    let Some(announcement) = due.and_then(|maintenance| maintenance.announcement(now_ns)) else {
        return;
    };
    let (headline, is_last) = match &announcement {
        Announcement::Countdown(headline) => (headline.as_str(), false),
        Announcement::Last(headline) => (*headline, true),
    };
    let mut body = Vec::new();
    body.text("148=").text(headline).text("\x01");
    client.send("B", now, &body);
    if is_last {
        // Fails only when the session has ended meanwhile. The client has time to answer.
        let _ = client.session.logout("Maintenance", now);
    }
}

/// Counts what the client has sent by now, where that is limited.
fn is_within_limit(client: &mut Client, now_ns: u64) -> bool {
    let received = client.session.received_messages();
    let limit = client.limit.as_mut();
    limit.is_none_or(|limit| limit.holds(received, now_ns))
}

fn reject_unsupported(client: &mut Client, request: &Request, now: Now) {
    let session = &mut client.session;
    // Fails only when the session has ended meanwhile.
    let _ = session.reject_unsupported(request.sequence, &request.msg_type, now);
}
