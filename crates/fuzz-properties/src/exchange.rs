//! What must hold of the exchange for any bytes that a client, a disk or a command line gives it.

use feedbench_exchange::hub::{ConnectionId, Hub};
use feedbench_exchange::inbound::{Arrival, Inbound};
use feedbench_exchange::ledger::{Ledger, LedgerWriter, Sent};
use feedbench_exchange::market::{Arrivals, Market, MarketConfig};
use feedbench_exchange::personality::binance::Binance;
use feedbench_exchange::personality::binary::{BinanceSbe, Itch};
use feedbench_exchange::personality::bithumb::Bithumb;
use feedbench_exchange::personality::bithumb_global::BithumbGlobal;
use feedbench_exchange::personality::bybit::Bybit;
use feedbench_exchange::personality::coinbase::Coinbase;
use feedbench_exchange::personality::coinbase_advanced::CoinbaseAdvanced;
use feedbench_exchange::personality::gemini::Gemini;
use feedbench_exchange::personality::gemini_streams::GeminiStreams;
use feedbench_exchange::personality::kraken::Kraken;
use feedbench_exchange::personality::{Incoming, Personality, Reply, Request};
use feedbench_exchange::replay::{Pace, Recording, Replay};
use feedbench_exchange::time::{ExchangeClock, MILLISECOND_NS};
use feedbench_wire::deflate::Agreement;
use feedbench_wire::frame::Opcode;
use serde_json::value::RawValue;

/// What a client's message of so many bytes may be answered with: its own text several times over (escaped), and the
/// snapshots of a small market for each of the few bytes that can name a stream.
fn answer_limit_bytes(asked_bytes: usize) -> usize {
    (1 << 16) + (1 << 12) * asked_bytes
}

/// Frames that a market of 200 events a second may send in 50 ms over one connection.
const DELIVERY_LIMIT_BYTES: usize = 1 << 22;

fn market() -> Market {
    let mut config = MarketConfig::new(1, 2, Arrivals::Constant { rate_per_s: 200.0 });
    config.mix.resting_orders = 30;
    Market::open(&config, ExchangeClock::right(1_618_677_817_075_687_000)).expect("valid")
}

/// Calls `converse` with the personality that a byte chooses, and what WebSocket clients ask for.
macro_rules! with_personality {
    ($choice:expr, $market:expr, $converse:path, $($argument:expr),*) => {
        match $choice % 12 {
            0 => $converse(Binance::new($market), "/ws/btcusdt@trade", $($argument),*),
            1 => $converse(Coinbase::new($market), "/", $($argument),*),
            2 => $converse(CoinbaseAdvanced::new($market), "/", $($argument),*),
            3 => $converse(Kraken::new($market), "/v2", $($argument),*),
            4 => $converse(Kraken::new($market), "/", $($argument),*),
            5 => $converse(Gemini::new($market), "/v2/marketdata", $($argument),*),
            6 => $converse(GeminiStreams::new($market), "/?snapshot=-1", $($argument),*),
            7 => $converse(Bithumb::new($market), "/websocket/v1", $($argument),*),
            8 => $converse(BithumbGlobal::new($market), "/message/realtime", $($argument),*),
            9 => $converse(BinanceSbe::new($market), "/ws/btcusdt@trade", $($argument),*),
            10 => $converse(Itch::new($market), "/ws/btcusdt@depth", $($argument),*),
            _ => $converse(Bybit::new($market), "/v5/public/spot", $($argument),*),
        }
    };
}

/// Whatever a client says, in whatever order, it is answered with well-formed messages of bounded size, the streams
/// go on, and after the end of its connection there is nothing more.
///
/// The first byte chooses the personality; the rest are messages with a line feed between them, of which the first
/// byte chooses the kind, and whether time passes before it.
pub fn session(bytes: &[u8]) {
    let Some((&choice, script)) = bytes.split_first() else {
        return;
    };
    // Made of a market that has just opened, as the one is that it will speak of.
    with_personality!(choice, &market(), talk, &mut market(), script);
}

fn talk<P: Personality>(personality: P, target: &str, market: &mut Market, script: &[u8]) {
    let mut hub = Hub::new(personality);
    let mut replies = Vec::new();
    let connection = hub
        .open(market, &Request::get(target), 0, &mut replies)
        .expect("it is what clients ask for");
    let mut now_ns = 0;
    let mut open = check(&replies, 0);
    for message in script.split(|&byte| byte == b'\n') {
        let Some((&kind, payload)) = message.split_first() else {
            continue;
        };
        if !open {
            break;
        }
        if kind & 0x10 != 0 {
            now_ns += 50 * MILLISECOND_NS;
            open = run_until(&mut hub, market, now_ns);
            if !open {
                break;
            }
        }
        let incoming = match kind & 3 {
            // As the door would: a text that is no text never reaches a personality.
            0 | 1 if std::str::from_utf8(payload).is_ok() => Incoming::Text(payload),
            2 => Incoming::Pong(payload),
            3 => Incoming::Ping,
            _ => Incoming::Binary(payload),
        };
        replies.clear();
        hub.on_message(market, connection, incoming, now_ns, &mut replies);
        open = check(&replies, payload.len());
    }
    if !open {
        hub.close(connection);
    }
    let delivered = run_until_counting(&mut hub, market, now_ns + 50 * MILLISECOND_NS);
    assert!(open || delivered == 0, "something came after the end");
}

/// Replies are well-formed; false once one of them ends the connection.
fn check(replies: &[Reply], asked_bytes: usize) -> bool {
    let mut bytes = 0;
    let mut open = true;
    for reply in replies {
        assert!(open, "{reply:?} after the end");
        match reply {
            Reply::Text(text) => {
                assert_json(text);
                bytes += text.len();
            }
            // Control frames hold 125 bytes, a close frame two of them for its code.
            Reply::Ping(payload) => assert!(payload.len() <= 125),
            Reply::Close { code, reason } => {
                assert!((1000..5000).contains(code) && reason.len() <= 123);
                open = false;
            }
            Reply::Subscribe(_) | Reply::Unsubscribe(_) => panic!("the hub keeps these"),
            Reply::Order(_) | Reply::Output | Reply::Received(_) | Reply::End => {
                panic!("{reply:?} is for FIX")
            }
        }
    }
    let limit_bytes = answer_limit_bytes(asked_bytes);
    assert!(
        bytes <= limit_bytes,
        "{bytes} bytes answer {asked_bytes}, more than {limit_bytes}"
    );
    open
}

fn assert_json(text: &[u8]) {
    let whole: Result<&RawValue, _> = serde_json::from_slice(text);
    assert!(whole.is_ok(), "{}", String::from_utf8_lossy(text));
}

/// Lets the market and the timers run; false once a connection is ended.
fn run_until<P: Personality>(hub: &mut Hub<P>, market: &mut Market, until_ns: u64) -> bool {
    let mut open = true;
    let mut replies = Vec::new();
    loop {
        let (event_ns, due_ns) = (market.next_ns(), hub.due_ns());
        if event_ns.min(due_ns) > until_ns {
            return open;
        }
        if due_ns <= event_ns {
            hub.on_time(market, due_ns, &mut replies);
            let own: Vec<Reply> = replies.drain(..).map(|(_, reply)| reply).collect();
            open &= check(&own, 0);
        } else {
            let event = market.next().expect("endless");
            hub.on_event(market, &event);
        }
        deliver(hub, due_ns.min(event_ns));
    }
}

fn run_until_counting<P: Personality>(
    hub: &mut Hub<P>,
    market: &mut Market,
    until_ns: u64,
) -> usize {
    let mut bytes = 0;
    while market.next_ns() <= until_ns {
        let event = market.next().expect("endless");
        hub.on_event(market, &event);
        bytes += deliver(hub, event.published_ns);
        assert!(bytes <= DELIVERY_LIMIT_BYTES);
    }
    bytes
}

/// Delivers what was made; returns how many bytes went to anybody.
fn deliver<P: Personality>(hub: &mut Hub<P>, now_ns: u64) -> usize {
    let mut bytes = 0;
    let is_text = hub.personality().opcode() == Opcode::Text;
    hub.deliver(now_ns, |connection, _, parts| {
        assert_eq!(connection, ConnectionId(0));
        let payload = parts.concat();
        if is_text {
            assert_json(&payload);
        }
        assert!(!payload.is_empty());
        bytes += payload.len();
    });
    bytes
}

/// Any request is served or refused by a well-formed answer of bounded size, as REST and as the beginning of a
/// WebSocket, and the exchange serves the next one.
///
/// The first byte chooses the personality; the rest is the request's path and query.
pub fn rest(bytes: &[u8]) {
    let Some((&choice, target)) = bytes.split_first() else {
        return;
    };
    let market = market();
    let target = String::from_utf8_lossy(target).into_owned();
    with_personality!(choice, &market, request, &market, &target);
}

fn request<P: Personality>(mut personality: P, usual: &str, market: &Market, target: &str) {
    let methods = ["GET", "POST", "HEAD"];
    for method in methods {
        let request = Request {
            method,
            ..Request::get(target)
        };
        let response = personality.rest(market, &request, 1);
        assert!((200..600).contains(&response.status), "{}", response.status);
        assert!(response.body.len() < 1 << 20);
        let text = std::str::from_utf8(&response.body).expect("an answer is text");
        if response.status == 200 {
            assert_json(text.as_bytes());
        }
        for (_, value) in &response.headers {
            assert!(value.bytes().all(|byte| (b' '..0x7f).contains(&byte)));
        }
    }
    let mut replies = Vec::new();
    match personality.open(market, &Request::get(target), 1, &mut replies) {
        // The hub takes the subscriptions; what is left is said to the client.
        Ok(_) => {
            replies.retain(|reply| !matches!(reply, Reply::Subscribe(_)));
            check(&replies, target.len());
        }
        Err(refusal) => assert!((400..600).contains(&refusal.status)),
    }
    let again = personality.open(market, &Request::get(usual), 2, &mut Vec::new());
    assert!(again.is_ok());
}

/// However a client's bytes are cut, they say the same, and nothing larger than the limit is taken; whether it may
/// compress or not.
pub fn inbound(bytes: &[u8]) {
    told_alike(bytes, Inbound::default);
    told_alike(bytes, || Inbound::inflating(Agreement::default()));
}

fn told_alike(bytes: &[u8], new: impl Fn() -> Inbound) {
    const LIMIT_BYTES: usize = 1_000;
    let told = |chunk_bytes: usize| {
        let mut inbound = new();
        let mut heard = Vec::new();
        let outcome = bytes.chunks(chunk_bytes).try_for_each(|chunk| {
            inbound.feed(&mut chunk.to_vec(), LIMIT_BYTES, |arrival| {
                if let Arrival::Text(text) = arrival {
                    assert!(std::str::from_utf8(text).is_ok());
                }
                if let Arrival::Text(bytes) | Arrival::Binary(bytes) = arrival {
                    assert!(bytes.len() <= LIMIT_BYTES);
                }
                heard.push(format!("{arrival:?}"));
            })
        });
        (heard, outcome)
    };
    let whole = told(bytes.len().max(1));
    for chunk_bytes in [1, 3, 128] {
        assert_eq!(told(chunk_bytes), whole);
    }
}

/// A recording is read up to its first bad line, and what was read can be replayed.
pub fn recording(bytes: &[u8]) {
    let lines: Vec<_> = Recording::new(bytes).collect();
    let errors = lines.iter().filter(|line| line.is_err()).count();
    assert!(errors == 0 || (errors == 1 && lines.last().is_some_and(Result::is_err)));
    assert!(lines.len() <= bytes.split(|&byte| byte == b'\n').count());
    let entries: Vec<_> = lines.into_iter().flatten().collect();
    let Ok(replay) = Replay::new(entries, Pace::Unpaced, Some(1)) else {
        return;
    };
    let market = Market::silent(ExchangeClock::right(0));
    let mut hub = Hub::new(replay);
    if hub
        .open(&market, &Request::get("/ws"), 0, &mut Vec::new())
        .is_err()
    {
        return;
    }
    let mut replies = Vec::new();
    let mut moments = 0;
    while hub.due_ns() < u64::MAX && !hub.personality().is_over() {
        let due_ns = hub.due_ns();
        hub.on_time(&market, due_ns, &mut replies);
        hub.deliver(due_ns, |_, _, _| {});
        moments += 1;
        assert!(moments <= 2 * bytes.len() + 100, "it does not end");
    }
    for target in ["/api/v3/depth?symbol=BTCUSDT", "/api/v3/exchangeInfo"] {
        let response = hub
            .personality()
            .rest(&market, &Request::get(target), u64::MAX / 2);
        assert!((200..600).contains(&response.status));
    }
}

/// A ledger that can be read at all is, written again, read as the same, and whole.
pub fn ledger(bytes: &[u8]) {
    let Ok(ledger) = Ledger::read(bytes) else {
        return;
    };
    let messages: Vec<Sent> = ledger.messages().collect();
    let mut writer = LedgerWriter::new(Vec::new(), ledger.header()).expect("memory takes all");
    for (stream, name) in ledger.streams() {
        writer.name_stream(*stream, name).expect("memory takes all");
    }
    for message in &messages {
        writer.append(message).expect("memory takes all");
    }
    let written = writer.finish().expect("memory takes all");
    let again = Ledger::read(&written).expect("we read what we write");
    assert!(again.complete());
    assert_eq!(again.header(), ledger.header());
    assert_eq!(again.streams(), ledger.streams());
    assert_eq!(again.messages().collect::<Vec<_>>(), messages);
}
