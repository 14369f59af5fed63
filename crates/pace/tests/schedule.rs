//! Intended times: rows that can be checked by hand, and what holds for every pacer.

use feedbench_pace::{Pacer, Rate, Schedule};
use proptest::prelude::*;

fn pacer(json: &str) -> Pacer {
    serde_json::from_str(json).unwrap()
}

fn constant(per_second: &str) -> Schedule {
    Pacer::Constant {
        rate_per_s: per_second.parse().unwrap(),
    }
    .schedule()
}

fn poisson(per_second: u64, seed: u64) -> Schedule {
    Pacer::Poisson {
        rate_per_s: Rate::per_second(per_second).unwrap(),
        seed,
    }
    .schedule()
}

#[test]
fn first_intended_times() {
    let rows: [(&str, &str, &[Option<u64>]); 7] = [
        (
            "a closed loop sends one message and then waits for its answer",
            r#"{"kind":"closed","in_flight":1}"#,
            &[Some(0), None, None],
        ),
        (
            "a deeper closed loop fills its depth at once",
            r#"{"kind":"closed","in_flight":3}"#,
            &[Some(0), Some(0), Some(0), None],
        ),
        (
            "a burst sends all its messages at the start of its interval",
            r#"{"kind":"burst","messages":2,"interval_ns":1000}"#,
            &[Some(0), Some(0), Some(1000), Some(1000), Some(2000)],
        ),
        (
            "a burst of one is a constant rate",
            r#"{"kind":"burst","messages":1,"interval_ns":7}"#,
            &[Some(0), Some(7), Some(14)],
        ),
        (
            "1,000 messages/s are due every millisecond, the first at once",
            r#"{"kind":"constant","rate_per_s":1000}"#,
            &[Some(0), Some(1_000_000), Some(2_000_000)],
        ),
        (
            "a third of a nanosecond is rounded down for each message, not added up",
            r#"{"kind":"constant","rate_per_s":3}"#,
            &[
                Some(0),
                Some(333_333_333),
                Some(666_666_666),
                Some(1_000_000_000),
            ],
        ),
        (
            "half a message per second is due every two seconds",
            r#"{"kind":"constant","rate_per_s":0.5}"#,
            &[Some(0), Some(2_000_000_000)],
        ),
    ];
    for (sentence, json, wanted) in rows {
        let mut schedule = pacer(json).schedule();
        let times: Vec<_> = wanted.iter().map(|_| schedule.next_ns()).collect();
        assert_eq!(times, wanted, "{sentence}");
    }
}

#[test]
fn a_refused_send_does_not_count() {
    let mut schedule = pacer(r#"{"kind":"closed","in_flight":2}"#).schedule();
    for _ in 0..5 {
        schedule.next_ns();
    }
    assert_eq!(schedule.handed_out(), 2);
}

#[test]
fn ten_hours_drift_by_nothing() {
    // 30,000 does not divide 1e9: gaps rounded to whole ns would be 360 ms short by then.
    let rate = Rate::per_second(30_000).unwrap();
    assert_eq!(rate.span_ns(30_000 * 36_000), 36_000 * 1_000_000_000);
    // And this is the time that the schedule hands out.
    let number = 100_000;
    assert_eq!(
        constant("30000").nth(number),
        Some(rate.span_ns(number as u64))
    );
}

#[test]
fn pacers_keep_their_json_form() {
    for json in [
        r#"{"kind":"closed","in_flight":8}"#,
        r#"{"kind":"burst","messages":100,"interval_ns":1000000000}"#,
        r#"{"kind":"constant","rate_per_s":1000}"#,
        r#"{"kind":"constant","rate_per_s":0.125}"#,
        r#"{"kind":"poisson","rate_per_s":1000}"#,
        r#"{"kind":"poisson","rate_per_s":1000,"seed":7}"#,
    ] {
        assert_eq!(serde_json::to_string(&pacer(json)).unwrap(), json);
    }
}

#[test]
fn pacers_that_make_no_sense_are_refused() {
    let rows = [
        ("nothing in flight", r#"{"kind":"closed","in_flight":0}"#),
        (
            "no messages in a burst",
            r#"{"kind":"burst","messages":0,"interval_ns":5}"#,
        ),
        (
            "bursts without end",
            r#"{"kind":"burst","messages":1,"interval_ns":0}"#,
        ),
        ("no rate", r#"{"kind":"constant","rate_per_s":0}"#),
        ("a rate backwards", r#"{"kind":"constant","rate_per_s":-1}"#),
        (
            "a rate finer than is kept",
            r#"{"kind":"constant","rate_per_s":0.0001}"#,
        ),
        (
            "a rate with more decimals than are kept",
            r#"{"kind":"constant","rate_per_s":1.0005}"#,
        ),
        (
            "more than one message per nanosecond",
            r#"{"kind":"constant","rate_per_s":1000000001}"#,
        ),
        ("an unknown kind", r#"{"kind":"sawtooth"}"#),
        (
            "a key of another pacer",
            r#"{"kind":"closed","in_flight":1,"rate_per_s":5}"#,
        ),
    ];
    for (sentence, json) in rows {
        assert!(serde_json::from_str::<Pacer>(json).is_err(), "{sentence}");
    }
    for text in ["", "fast", "NaN", "inf", "-inf", "1e300"] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
}

#[test]
fn offered_rates_are_over_all_connections() {
    let rows = [
        (
            "the target decides",
            r#"{"kind":"closed","in_flight":1}"#,
            None,
        ),
        (
            "each connection has its bursts",
            r#"{"kind":"burst","messages":10,"interval_ns":500000000}"#,
            Some(80.0),
        ),
        (
            "the rate is shared",
            r#"{"kind":"constant","rate_per_s":1000}"#,
            Some(1000.0),
        ),
        (
            "the mean rate is shared",
            r#"{"kind":"poisson","rate_per_s":2.5}"#,
            Some(2.5),
        ),
    ];
    for (sentence, json, wanted) in rows {
        assert_eq!(pacer(json).offered_per_second(4), wanted, "{sentence}");
    }
}

#[test]
fn poisson_gaps_are_exponential() {
    // With n = 200,000 gaps the standard errors are mean/√n = 0.22 %, and √8/√n = 0.63 % of the variance; each bound
    // is five of them. P(gap > mean) is 1/e, with a standard error of 0.11 %.
    const GAPS: usize = 200_000;
    let mean_ns = 50_000.0;
    let times: Vec<u64> = poisson(20_000, 42).take(GAPS).collect();
    let gaps: Vec<f64> = std::iter::once(times[0])
        .chain(times.windows(2).map(|pair| pair[1] - pair[0]))
        .map(|gap| gap as f64)
        .collect();
    let mean = gaps.iter().sum::<f64>() / GAPS as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / GAPS as f64;
    let longer = gaps.iter().filter(|&&gap| gap > mean_ns).count() as f64 / GAPS as f64;
    assert!((mean / mean_ns - 1.0).abs() < 0.0112, "mean gap {mean} ns");
    assert!(
        (variance / mean_ns.powi(2) - 1.0).abs() < 0.0316,
        "variance {variance} ns²"
    );
    assert!(
        (longer - (-1f64).exp()).abs() < 0.0055,
        "{longer} of the gaps are longer than the mean"
    );

    // A gap says nothing about the next one: the correlation's standard error is 1/√n.
    let pairs = gaps
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean));
    let correlation = pairs.sum::<f64>() / GAPS as f64 / variance;
    assert!(
        correlation.abs() < 5.0 / (GAPS as f64).sqrt(),
        "neighbours correlate with {correlation}"
    );
}

#[test]
fn a_seed_names_its_schedule() {
    let first: Vec<u64> = poisson(1000, 7).take(4).collect();
    // Written down once: a new release of a dependency must not change what a recorded seed means.
    assert_eq!(first, FIRST_OF_SEED_7);
    assert_ne!(first, poisson(1000, 8).take(4).collect::<Vec<_>>());
    let seeded = pacer(r#"{"kind":"poisson","rate_per_s":1000}"#).with_seed(7);
    assert_eq!(first, seeded.schedule().take(4).collect::<Vec<_>>());
}

const FIRST_OF_SEED_7: [u64; 4] = [1_035_323, 2_475_401, 2_793_544, 7_292_938];

fn pacers() -> impl Strategy<Value = Pacer> {
    let rate = (1u64..=1_000_000_000_000)
        .prop_map(|millihertz| Rate::try_from(millihertz as f64 / 1000.0).unwrap());
    prop_oneof![
        (1u32..100).prop_map(|depth| Pacer::Closed {
            in_flight: depth.try_into().unwrap()
        }),
        (1u32..100, 1u64..1 << 40).prop_map(|(messages, interval_ns)| Pacer::Burst {
            messages: messages.try_into().unwrap(),
            interval_ns: interval_ns.try_into().unwrap(),
        }),
        rate.clone()
            .prop_map(|rate_per_s| Pacer::Constant { rate_per_s }),
        (rate, any::<u64>()).prop_map(|(rate_per_s, seed)| Pacer::Poisson { rate_per_s, seed }),
    ]
}

proptest! {
    #[test]
    fn times_never_go_back(pacer in pacers()) {
        let times: Vec<u64> = pacer.schedule().take(500).collect();
        prop_assert!(times.is_sorted());
    }

    #[test]
    fn a_schedule_is_a_function_of_its_pacer(pacer in pacers()) {
        prop_assert!(pacer.schedule().take(200).eq(pacer.schedule().take(200)));
        let again: Pacer = serde_json::from_str(&serde_json::to_string(&pacer).unwrap()).unwrap();
        prop_assert_eq!(again, pacer);
    }

    /// The k-th message is never early, and less than a nanosecond late, however large k is: t ≤ k/rate < t + 1.
    #[test]
    fn the_long_run_rate_is_exact(millihertz in 1u64..=1_000_000_000_000, count in any::<u64>()) {
        let rate = Rate::try_from(millihertz as f64 / 1000.0).unwrap();
        prop_assert_eq!(rate.millihertz(), millihertz);
        let span_ns = u128::from(rate.span_ns(count));
        prop_assume!(span_ns < u128::from(u64::MAX));
        let exact = u128::from(count) * 1_000_000_000_000;
        prop_assert!(span_ns * u128::from(millihertz) <= exact);
        prop_assert!(exact < (span_ns + 1) * u128::from(millihertz));
    }
}
