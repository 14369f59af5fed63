//! Stamps: every library's style is read, nothing else is, and both readers agree.

use feedbench_wire::stamp::Stamp;
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    valid: Vec<Valid>,
    invalid: Vec<Invalid>,
}

#[derive(Deserialize)]
struct Valid {
    id: String,
    text: String,
    c: u64,
    unix_s: f64,
}

#[derive(Deserialize)]
struct Invalid {
    id: String,
    text: String,
    why: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../spec/vectors/stamp.json")).unwrap()
}

#[test]
fn vectors_are_read_or_refused() {
    for case in vectors().valid {
        let stamp = Stamp::parse(case.text.as_bytes()).unwrap();
        assert_eq!(stamp.count, case.c, "{}", case.id);
        assert!(
            (stamp.unix_s() - case.unix_s).abs() < 1e-6,
            "{}: {stamp:?}",
            case.id
        );
    }
    for case in vectors().invalid {
        let found = Stamp::parse(case.text.as_bytes());
        assert!(found.is_err(), "{} ({}): {found:?}", case.id, case.why);
    }
}

#[test]
fn the_usual_forms_need_no_full_parser() {
    for id in [
        "compact",
        "python.json",
        "time.first",
        "milliseconds",
        "spaces",
    ] {
        let case = vectors().valid.into_iter().find(|case| case.id == id);
        assert!(
            Stamp::parse_plain(case.unwrap().text.as_bytes()).is_some(),
            "{id}"
        );
    }
}

/// Spaces as JSON allows them.
fn spaces() -> impl Strategy<Value = String> {
    "[ \t\r\n]{0,3}"
}

proptest! {
    #[test]
    fn any_spacing_and_order_is_read(
        count in 0_u64..1 << 53,
        time in "[1-9][0-9]{8,12}(\\.[0-9]{1,7})?",
        gaps in prop::collection::vec(spaces(), 9),
        count_first: bool,
    ) {
        let fields = [("c", count.to_string()), ("ts", time.clone())];
        let order = if count_first { [0, 1] } else { [1, 0] };
        let [one, other] = order.map(|at| &fields[at]);
        let text = format!(
            "{}{{{}\"{}\"{}:{}{}{},{}\"{}\"{}:{}{}}}{}",
            gaps[0], gaps[1], one.0, gaps[2], gaps[3], one.1, gaps[4], gaps[5], other.0, gaps[6], gaps[7], other.1,
            gaps[8],
        );
        let stamp = Stamp::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(stamp.count, count);
        let written: f64 = time.parse().unwrap();
        let written_s = if written < 1e11 { written } else { written / 1e3 };
        prop_assert!((stamp.unix_s() - written_s).abs() <= 1e-15 * written_s, "{} {}", stamp.unix_s(), written_s);
    }

    /// One changed byte: whatever the quick reader still takes, the full one takes for the same.
    #[test]
    fn the_quick_reader_takes_nothing_that_is_not_json(at in 0_usize..40, byte: u8) {
        for case in vectors().valid {
            let mut text = case.text.into_bytes();
            let at = at % text.len();
            text[at] = byte;
            if let Some(quick) = Stamp::parse_plain(&text) {
                let full = Stamp::parse_any(&text).unwrap();
                prop_assert_eq!(quick.count, full.count);
                prop_assert!((quick.unix_s() - full.unix_s()).abs() <= 1e-15 * full.unix_s());
            }
        }
    }
}
