//! Binary messages, read back by decoders that share nothing with the encoders: against vectors packed elsewhere, and
//! against the market that they tell of.

mod common;

use common::{config, Got, Rig, OPENED_UNIX_NS};
use feedbench_exchange::hub::ConnectionId;
use feedbench_exchange::market::{
    Action, Event, Fill, Instrument, Lots, Market, MarketConfig, Side, Ticks,
};
use feedbench_exchange::personality::binary::{
    About, BinanceSbe, Encoding, Itch, ItchLike, Levels, Sbe, Trades,
};
use feedbench_exchange::personality::Personality;
use feedbench_exchange::time::{DAY_NS, MILLISECOND_NS, SECOND_NS};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a message says, whichever its encoding; numbers in the instrument's units.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Trade {
        number: u64,
        price: u64,
        quantity: u64,
        buyer_is_maker: bool,
    },
    Best {
        update: u64,
        bid: (u64, u64),
        ask: (u64, u64),
    },
    Levels {
        /// Of a message of changes.
        first: Option<u64>,
        last: u64,
        bids: Vec<(u64, u64)>,
        asks: Vec<(u64, u64)>,
    },
}

/// All that a message says, with its event time in nanoseconds: of Unix time for SBE, of the day for ITCH.
type Read = (u64, Vec<Said>);

/// Takes fields off the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn little(&mut self, count: usize) -> Option<u64> {
        let taken = self.take(count)?.iter().rev();
        Some(taken.fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn big(&mut self, count: usize) -> Option<u64> {
        let taken = self.take(count)?.iter();
        Some(taken.fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }
}

/// Reads an SBE message; `None` if it is not exactly one of the four.
fn read_sbe(bytes: &[u8], instrument: &Instrument, name: &str) -> Option<Read> {
    let mut fields = Fields(bytes);
    let [block, template, schema, version] = [(); 4].map(|()| fields.little(2));
    if (schema?, version?) != (1, 0) {
        return None;
    }
    let unix_us = fields.little(8)?;
    let exponents = |fields: &mut Fields<'_>| {
        let read = [fields.little(1)? as u8 as i8, fields.little(1)? as u8 as i8];
        let expected = [instrument.price_decimals, instrument.quantity_decimals];
        (read == expected.map(|decimals| -(decimals as i8))).then_some(())
    };
    let mut said = Vec::new();
    match (template?, block?) {
        (10_000, 18) => {
            let transaction_us = fields.little(8)?;
            assert!(transaction_us <= unix_us);
            exponents(&mut fields)?;
            assert_eq!(fields.little(2)?, 25);
            for _ in 0..fields.little(4)? {
                said.push(Said::Trade {
                    number: fields.little(8)?,
                    price: fields.little(8)?,
                    quantity: fields.little(8)?,
                    buyer_is_maker: fields.little(1)? == 1,
                });
            }
        }
        (10_001, 50) => {
            let update = fields.little(8)?;
            exponents(&mut fields)?;
            said.push(Said::Best {
                update,
                bid: (fields.little(8)?, fields.little(8)?),
                ask: (fields.little(8)?, fields.little(8)?),
            });
        }
        (template @ (10_002 | 10_003), block) => {
            let is_change = template == 10_003;
            assert_eq!(block, if is_change { 26 } else { 18 });
            let first = if is_change {
                Some(fields.little(8)?)
            } else {
                None
            };
            let last = fields.little(8)?;
            exponents(&mut fields)?;
            let mut side = || {
                assert_eq!(fields.little(2)?, 16);
                let count = fields.little(2)?;
                (0..count)
                    .map(|_| Some((fields.little(8)?, fields.little(8)?)))
                    .collect::<Option<Vec<_>>>()
            };
            let (bids, asks) = (side()?, side()?);
            said.push(Said::Levels {
                first,
                last,
                bids,
                asks,
            });
        }
        _ => return None,
    }
    let length = fields.little(1)?;
    let symbol = fields.take(length as usize)?;
    (symbol == name.as_bytes() && fields.0.is_empty()).then_some((unix_us * 1_000, said))
}

/// Reads ITCH-like messages; `None` if they are not exactly that. Levels of one update are told together.
fn read_itch(bytes: &[u8], instrument: &Instrument, name: &str) -> Option<Read> {
    let mut fields = Fields(bytes);
    let units = |decimals: u32, number: u64| {
        let scale = 10_u64.pow(8 - decimals);
        (number % scale == 0).then_some(number / scale)
    };
    let price = |number| units(instrument.price_decimals, number);
    let quantity = |number| units(instrument.quantity_decimals, number);
    let symbol = |fields: &mut Fields<'_>| {
        let symbol = std::str::from_utf8(fields.take(8)?).ok()?;
        (symbol.trim_end() == name).then_some(())
    };
    let side = |fields: &mut Fields<'_>| match fields.take(1)? {
        b"B" => Some(Side::Bid),
        b"S" => Some(Side::Ask),
        _ => None,
    };
    let (mut said, mut of_day_ns) = (Vec::new(), None);
    let (mut last, mut bids, mut asks) = (None, Vec::new(), Vec::new());
    while !fields.0.is_empty() {
        let kind = fields.take(1)?[0];
        assert_eq!((fields.big(2)?, fields.big(2)?), (1, 0), "locate, tracking");
        let at_ns = fields.big(6)?;
        assert_eq!(*of_day_ns.get_or_insert(at_ns), at_ns);
        match kind {
            b'P' => {
                let _maker = fields.big(8)?;
                let buyer_is_maker = side(&mut fields)? == Side::Bid;
                let traded = quantity(fields.big(8)?)?;
                symbol(&mut fields)?;
                said.push(Said::Trade {
                    price: price(fields.big(8)?)?,
                    number: fields.big(8)?,
                    quantity: traded,
                    buyer_is_maker,
                });
            }
            b'Q' => {
                symbol(&mut fields)?;
                said.push(Said::Best {
                    update: fields.big(8)?,
                    bid: (price(fields.big(8)?)?, quantity(fields.big(8)?)?),
                    ask: (price(fields.big(8)?)?, quantity(fields.big(8)?)?),
                });
            }
            b'L' => {
                let list = match side(&mut fields)? {
                    Side::Bid => &mut bids,
                    Side::Ask => &mut asks,
                };
                let stands = quantity(fields.big(8)?)?;
                symbol(&mut fields)?;
                list.push((price(fields.big(8)?)?, stands));
                let update = fields.big(8)?;
                assert_eq!(*last.get_or_insert(update), update);
            }
            _ => return None,
        }
    }
    if let Some(last) = last {
        said.push(Said::Levels {
            first: Some(last),
            last,
            bids,
            asks,
        });
    }
    Some((of_day_ns?, said))
}

fn bitcoin() -> Instrument {
    Instrument::numbered(0)
}

fn vectors() -> BTreeMap<(String, String), Vec<u8>> {
    let text = include_str!("../../../spec/vectors/binary-market-data.json");
    let document: Value = serde_json::from_str(text).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let bytes = |hex: &str| -> Vec<u8> {
        let digits = (0..hex.len()).step_by(2);
        digits
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    };
    let cases = document["cases"].as_array().unwrap().iter();
    cases
        .map(|case| {
            let name = (text(&case["encoding"]), text(&case["message"]));
            (name, bytes(&text(&case["hex"])))
        })
        .collect()
}

/// What the vectors tell, as each encoding writes it.
fn written<E: Encoding>() -> [Vec<u8>; 4] {
    let instrument = bitcoin();
    let about = About {
        name: "BTCUSDT",
        number: 0,
        instrument: &instrument,
        unix_ns: OPENED_UNIX_NS,
    };
    let fill = |trade, price, quantity, maker| Fill {
        trade,
        aggregate: trade,
        maker,
        price,
        quantity,
        maker_remaining: 0,
    };
    let trades = Trades {
        fills: &[fill(5, 6_183_764, 3, 31), fill(6, 6_183_765, 4, 32)],
        side: Side::Bid,
        unix_ns: OPENED_UNIX_NS - 2_000_000,
    };
    let changes = Levels {
        updates: (Some(70), 77),
        bids: &[(6_183_763, 79_200)],
        asks: &[(6_183_764, 0), (6_183_770, 9)],
    };
    let snapshot = Levels {
        updates: (None, 77),
        ..changes
    };
    let mut out = [(); 4].map(|()| Vec::new());
    E::best(
        &mut out[0],
        about,
        77,
        [(6_183_763, 79_200), (6_183_764, 12)],
    );
    E::trades(&mut out[1], about, trades);
    E::levels(&mut out[2], about, changes);
    E::levels(&mut out[3], about, snapshot);
    out
}

#[test]
fn what_is_written_is_what_was_packed_elsewhere() {
    let vectors = vectors();
    let of = |encoding: &str, message: &str| &vectors[&(encoding.to_owned(), message.to_owned())];
    let [best, trades, changes, snapshot] = written::<Sbe>();
    assert_eq!(&best, of("sbe", "best"));
    assert_eq!(&trades, of("sbe", "trades"));
    assert_eq!(&changes, of("sbe", "changes"));
    assert_eq!(&snapshot, of("sbe", "snapshot"));
    let [best, trades, levels, _] = written::<ItchLike>();
    assert_eq!(&best, of("itch", "best"));
    assert_eq!(&trades, of("itch", "trades"));
    assert_eq!(&levels, of("itch", "levels"));
    assert_eq!(vectors.len(), 7);
}

#[test]
fn the_decoders_take_nothing_but_whole_messages() {
    for ((encoding, message), bytes) in vectors() {
        let read = match encoding.as_str() {
            "sbe" => read_sbe,
            _ => read_itch,
        };
        let told = |bytes: &[u8]| read(bytes, &bitcoin(), "BTCUSDT");
        assert!(told(&bytes).is_some(), "{encoding} {message}");
        for cut in 1..bytes.len() {
            let part = told(&bytes[..cut]);
            // Several ITCH messages in one frame may be cut between two.
            assert!(
                part.is_none() || encoding == "itch",
                "{message} cut at {cut}"
            );
            assert_ne!(part, told(&bytes), "{message} cut at {cut}");
        }
        assert_eq!(told(&[&bytes[..], b"?"].concat()), None, "{message}, more");
        assert_eq!(read(&bytes, &bitcoin(), "ETHUSDT"), None, "{message}");
    }
}

/// Reads everything that a connection got, checks its time, and tells it with the time at which it came.
fn read_all<P: Personality>(
    rig: &Rig<P>,
    connection: ConnectionId,
    read: fn(&[u8], &Instrument, &str) -> Option<Read>,
) -> Vec<(u64, Vec<Said>)> {
    let instrument = &rig.market.symbols()[0].instrument;
    let all = rig.binary(connection).into_iter().map(|(at_ns, bytes)| {
        let (told_ns, said) = read(&bytes, instrument, "BTCUSDT").expect("a whole message");
        let unix_ns = OPENED_UNIX_NS + at_ns;
        let expected_ns = [unix_ns / 1_000 * 1_000, unix_ns % DAY_NS];
        assert!(expected_ns.contains(&told_ns), "{told_ns} at {unix_ns}");
        (at_ns, said)
    });
    all.collect()
}

/// The trades of the market's events.
fn trades(events: &[Event]) -> Vec<Said> {
    let trades = events
        .iter()
        .flat_map(Event::trades)
        .map(|trade| Said::Trade {
            number: trade.fill.trade,
            price: trade.fill.price,
            quantity: trade.fill.quantity,
            buyer_is_maker: trade.side == Side::Ask,
        });
    trades.collect()
}

/// A book as a client keeps it.
type Kept = BTreeMap<(Side, Ticks), Lots>;

fn set(kept: &mut Kept, side: Side, levels: &[(u64, u64)]) {
    for &(price, quantity) in levels {
        match quantity {
            0 => kept.remove(&(side, price)),
            _ => kept.insert((side, price), quantity),
        };
    }
}

fn book(market: &Market) -> Kept {
    let book = &market.symbols()[0].book;
    let of = |side| {
        book.levels(side)
            .map(move |(price, level)| ((side, price), level.quantity))
    };
    of(Side::Bid).chain(of(Side::Ask)).collect()
}

/// The snapshot of REST, in the instrument's units, and the update that it is of.
fn snapshot<P: Personality>(rig: &mut Rig<P>) -> (u64, Kept) {
    let instrument = rig.market.symbols()[0].instrument.clone();
    let told = rig.rest_json("/api/v3/depth?symbol=BTCUSDT&limit=5000");
    let units = |text: &Value, decimals: u32| -> u64 {
        let digits: String = text
            .as_str()
            .unwrap()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        digits.parse::<u64>().unwrap() / 10_u64.pow(8 - decimals)
    };
    let mut kept = Kept::new();
    for (side, key) in [(Side::Bid, "bids"), (Side::Ask, "asks")] {
        for level in told[key].as_array().unwrap() {
            let price = units(&level[0], instrument.price_decimals);
            kept.insert(
                (side, price),
                units(&level[1], instrument.quantity_decimals),
            );
        }
    }
    (told["lastUpdateId"].as_u64().unwrap(), kept)
}

/// One personality over any market: trades, best prices, and a book that a client joins in the middle.
fn check<P: Personality>(
    config: &MarketConfig,
    make: fn(&Market) -> P,
    best_stream: &str,
    read: fn(&[u8], &Instrument, &str) -> Option<Read>,
    join_ms: u64,
) {
    let mut rig = Rig::new(config, make);
    let [traded, best] =
        ["btcusdt@trade", best_stream].map(|stream| rig.open(&format!("/ws/{stream}")));
    rig.run_until(join_ms * MILLISECOND_NS);
    let changes = rig.open("/stream?streams=btcusdt@depth");
    rig.run_for(70 * MILLISECOND_NS);
    let (joined, mut kept) = snapshot(&mut rig);
    // Whole twentieths of a second: what goes by the clock has then told all.
    let until_ns = 2 * SECOND_NS - OPENED_UNIX_NS % (100 * MILLISECOND_NS);
    rig.run_until(until_ns);

    let told = read_all(&rig, traded, read);
    assert!(told.iter().all(|(_, said)| !said.is_empty()));
    let told: Vec<Said> = told.into_iter().flat_map(|(_, said)| said).collect();
    assert_eq!(told, trades(&rig.events));

    let mut last_update = 0;
    for (at_ns, said) in read_all(&rig, best, read) {
        let [Said::Best { update, bid, ask }] = said[..] else {
            panic!("{said:?}")
        };
        let event = rig
            .events
            .iter()
            .find(|event| event.sequence == update)
            .unwrap();
        assert_eq!(event.published_ns, at_ns);
        assert!(
            update > last_update && bid.0 < ask.0,
            "after {last_update}: {said:?}"
        );
        last_update = update;
    }

    let mut last = joined;
    for (_, said) in read_all(&rig, changes, read) {
        let [Said::Levels {
            first: Some(first),
            last: to,
            bids,
            asks,
        }] = &said[..]
        else {
            panic!("{said:?}")
        };
        if *to <= joined {
            continue;
        }
        assert!(*first <= last + 1, "a gap after {last}: {said:?}");
        last = *to;
        set(&mut kept, Side::Bid, bids);
        set(&mut kept, Side::Ask, asks);
    }
    assert_eq!(last, rig.market.symbols()[0].sequence);
    assert_eq!(kept, book(&rig.market));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_market_reads_back_as_it_was(seed: u64, rate in 20.0f64..2_000.0, join_ms in 0u64..1_000) {
        let config = config(seed, 1, rate);
        check(&config, BinanceSbe::new, "btcusdt@bestBidAsk", read_sbe, join_ms);
        check(&config, Itch::new, "btcusdt@bookTicker", read_itch, join_ms);
    }
}

#[test]
fn snapshots_are_the_best_twenty_levels() {
    let mut rig = Rig::new(&config(3, 1, 500.0), BinanceSbe::new);
    let connection = rig.open("/ws/btcusdt@depth20");
    rig.run_until(2 * SECOND_NS - OPENED_UNIX_NS % (50 * MILLISECOND_NS));
    let all = read_all(&rig, connection, read_sbe);
    assert!((30..=40).contains(&all.len()), "every 50 ms: {}", all.len());
    let [Said::Levels {
        first: None,
        last,
        bids,
        asks,
    }] = &all.last().unwrap().1[..]
    else {
        panic!()
    };
    let symbol = &rig.market.symbols()[0];
    assert_eq!(*last, symbol.sequence);
    for (side, told) in [(Side::Bid, bids), (Side::Ask, asks)] {
        let levels = symbol.book.levels(side).take(20);
        let stands: Vec<(Ticks, Lots)> = levels
            .map(|(price, level)| (price, level.quantity))
            .collect();
        assert_eq!(*told, stands);
    }
}

#[test]
fn streams_are_subscribed_to_in_text_and_come_in_binary() {
    let mut rig = Rig::new(&config(5, 2, 500.0), BinanceSbe::new);
    let connection = rig.open("/ws/0");
    let subscribe =
        r#"{"method":"SUBSCRIBE","params":["btcusdt@trade","btcusdt@kline_1m"],"id":1}"#;
    assert_eq!(
        rig.ask(connection, subscribe),
        [r#"{"result":null,"id":1}"#]
    );
    rig.run_for(SECOND_NS);
    assert!(!rig.binary(connection).is_empty());
    let unsubscribe = r#"{"method":"UNSUBSCRIBE","params":["btcusdt@trade"],"id":2}"#;
    rig.send(connection, unsubscribe);
    let before = rig.binary(connection).len();
    rig.run_for(SECOND_NS);
    assert_eq!(rig.binary(connection).len(), before);
    let wrong = rig.ask(connection, "{");
    assert!(
        wrong[0].starts_with(r#"{"code":3,"msg":"Invalid JSON: "#),
        "{wrong:?}"
    );
    assert_eq!(rig.try_open("/market").unwrap_err().status, 404);
    // The ping of a connection that is a third of a minute old.
    rig.run_for(20 * SECOND_NS);
    let pings = rig.got[connection.0 as usize].iter();
    assert_eq!(
        pings.filter(|(_, got)| matches!(got, Got::Ping(_))).count(),
        1
    );
}

#[test]
fn combined_and_raw_connections_get_the_same_bytes() {
    let mut rig = Rig::new(&config(9, 1, 500.0), Itch::new);
    let targets = [
        "/ws/btcusdt@trade/btcusdt@bookTicker/btcusdt@depth",
        "/stream?streams=btcusdt@trade/btcusdt@bookTicker/btcusdt@depth",
    ];
    let [raw, combined] = targets.map(|target| rig.open(target));
    rig.run_for(SECOND_NS);
    assert!(!rig.binary(raw).is_empty());
    assert_eq!(rig.binary(raw), rig.binary(combined));
    let taken = rig
        .events
        .iter()
        .filter(|event| matches!(event.action, Action::Take { .. }));
    assert!(taken.count() > 5);
}
