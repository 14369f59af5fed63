//! How fast the market makes events, and how fast each personality encodes them for one subscriber, on one core.
//!
//! `cargo run --release -p feedbench-exchange --example throughput`: events per second, and the share of one core
//! that 100,000 events per second would take.

use feedbench_exchange::hub::Hub;
use feedbench_exchange::market::{Arrivals, Market, MarketConfig};
use feedbench_exchange::personality::{
    binance::Binance, bithumb::Bithumb, bithumb_global::BithumbGlobal, coinbase::Coinbase,
    coinbase_advanced::CoinbaseAdvanced, gemini::Gemini, kraken::Kraken, Incoming, Personality,
    Request,
};
use feedbench_exchange::time::ExchangeClock;
use std::time::Instant;

const EVENTS: usize = 500_000;

fn market() -> Market {
    let arrivals = Arrivals::Hawkes {
        rate_per_s: 100_000.0,
        branching_ratio: 0.5,
        decay_per_s: 1_000.0,
    };
    Market::open(
        &MarketConfig::new(1, 4, arrivals),
        ExchangeClock::right(1_618_677_817_000_000_000),
    )
    .expect("valid")
}

fn report(name: &str, messages: usize, bytes: usize, seconds: f64) {
    let rate = EVENTS as f64 / seconds;
    println!(
        "{name:<34} {:>10.0} events/s {:>10.0} messages/s {:>7.0} MB/s   100,000 events/s take {:>5.1} % of a core",
        rate,
        messages as f64 / seconds,
        bytes as f64 / seconds / 1e6,
        100.0 * 100_000.0 / rate
    );
}

fn measure<P: Personality>(
    name: &str,
    new: impl Fn(&Market) -> P,
    target: &str,
    subscribe: Option<&str>,
) {
    let mut market = market();
    let mut hub = Hub::new(new(&market));
    let mut replies = Vec::new();
    let connection = hub
        .open(&market, &Request::get(target), 0, &mut replies)
        .expect("accepted");
    if let Some(text) = subscribe {
        hub.on_message(
            &market,
            connection,
            Incoming::Text(text.as_bytes()),
            0,
            &mut replies,
        );
    }
    let (mut messages, mut bytes) = (0, 0);
    let mut timed = Vec::new();
    let began = Instant::now();
    for _ in 0..EVENTS {
        while hub.due_ns() <= market.next_ns() {
            let now_ns = hub.due_ns();
            hub.on_time(&market, now_ns, &mut timed);
            timed.clear();
            hub.deliver(now_ns, |_, _, parts| {
                messages += 1;
                bytes += parts.iter().map(|part| part.len()).sum::<usize>();
            });
        }
        let event = market.next().expect("endless");
        hub.on_event(&market, &event);
        hub.deliver(event.published_ns, |_, _, parts| {
            messages += 1;
            bytes += parts.iter().map(|part| part.len()).sum::<usize>();
        });
    }
    report(name, messages, bytes, began.elapsed().as_secs_f64());
}

fn main() {
    let mut bare = market();
    let began = Instant::now();
    let trades: usize = bare
        .by_ref()
        .take(EVENTS)
        .map(|event| event.trades().count())
        .sum();
    report("market alone", trades, 0, began.elapsed().as_secs_f64());
    let binance = "/stream?streams=btcusdt@trade/btcusdt@bookTicker/btcusdt@depth@100ms/ethusdt@trade/ethusdt@bookTicker/\
                   solusdt@trade/solusdt@bookTicker/xrpusdt@trade/xrpusdt@bookTicker";
    measure(
        "binance trade, bookTicker, depth",
        Binance::new,
        binance,
        None,
    );
    let coinbase = r#"{"type":"subscribe","product_ids":["BTC-USD","ETH-USD","SOL-USD","XRP-USD"],"channels":["full"]}"#;
    measure("coinbase full", Coinbase::new, "/", Some(coinbase));
    let coinbase = coinbase.replace(r#"["full"]"#, r#"["level2","matches","ticker"]"#);
    measure(
        "coinbase level2, matches, ticker",
        Coinbase::new,
        "/",
        Some(&coinbase),
    );
    for depth in [10, 1_000] {
        let kraken = format!(
            r#"{{"method":"subscribe","params":{{"channel":"book","depth":{depth},"symbol":["BTC/USD","ETH/USD","SOL/USD","XRP/USD"]}}}}"#
        );
        measure(
            &format!("kraken book {depth}"),
            Kraken::new,
            "/v2",
            Some(&kraken),
        );
    }
    measure(
        "gemini v1 btcusd",
        Gemini::new,
        "/v1/marketdata/btcusd",
        None,
    );
    let topics = "/message/realtime?subscribe=ORDERBOOK:BTC-USDT,ORDERBOOK:ETH-USDT,ORDERBOOK:SOL-USDT,ORDERBOOK:XRP-USDT";
    measure("bithumb-global ORDERBOOK", BithumbGlobal::new, topics, None);
    let bithumb = r#"[{"ticket":"t"},{"type":"orderbook","codes":["KRW-BTC","KRW-ETH","KRW-SOL","KRW-XRP"]}]"#;
    measure(
        "bithumb orderbook, 30 levels",
        Bithumb::new,
        "/websocket/v1",
        Some(bithumb),
    );
    let advanced = r#"{"type":"subscribe","channel":"level2","product_ids":["BTC-USD","ETH-USD","SOL-USD","XRP-USD"]}"#;
    measure(
        "coinbase-advanced level2",
        CoinbaseAdvanced::new,
        "/",
        Some(advanced),
    );
}
