//! A result for people.

use std::fmt::Write;

use feedbench_record::Summary;

use crate::result::{LoadResult, Verdict};

/// A few lines that fit on a screen; `bold` for terminals.
pub fn text(result: &LoadResult, bold: bool) -> String {
    let (strong, plain) = if bold {
        ("\x1b[1m", "\x1b[0m")
    } else {
        ("", "")
    };
    let verdict = match result.verdict {
        Verdict::Ok => "ok",
        Verdict::MissedRate => "missed rate",
        Verdict::Failed => "failed",
    };
    let mut text = format!("{strong}{}{plain}  {verdict}", result.name);
    if let Some(cause) = &result.cause {
        text += &format!(": {cause}");
    }
    let mut line = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n  {name:<18}{value}");
    };
    line(
        "round trips",
        format!(
            "{:.0}/s over {:.3} s",
            result.round_trips_per_s,
            result.measured_ns as f64 / 1e9
        ),
    );
    if let Some(ceiling) = &result.ceiling {
        line(
            "raw TCP ceiling",
            format!(
                "{:.0}/s, of which {:.0} % reached",
                ceiling.round_trips_per_s,
                ceiling.share * 100.0
            ),
        );
    }
    line(
        "messages",
        format!(
            "{} sent, {} received, {} lost, {} duplicated, {} out of order, {} wrong",
            result.sent,
            result.received,
            result.lost,
            result.duplicated,
            result.out_of_order,
            result.wrong
        ),
    );
    line(
        "connections",
        format!(
            "{}, {:.0} handshakes/s",
            result.connections, result.handshakes_per_s
        ),
    );
    line(
        "",
        "p50       p90       p99     p99.9    p99.99       max".to_owned(),
    );
    line("latency", quantiles(&result.latency_ns));
    if !result.pacer.waits_for_answers() {
        line("  from send", quantiles(&result.latency_from_send_ns));
        line("  lateness", quantiles(&result.lateness_ns));
    }
    line("handshake", quantiles(&result.handshake_ns));
    for warning in &result.warnings {
        line("note", warning.text());
    }
    text.push('\n');
    text
}

fn quantiles(summary: &Summary) -> String {
    let cell = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), duration);
    let cells = [
        summary.p50,
        summary.p90,
        summary.p99,
        summary.p99_9,
        summary.p99_99,
        summary.max,
    ];
    cells
        .map(|value| format!("{:<10}", cell(value)))
        .concat()
        .trim_end()
        .to_owned()
}

/// Three figures and a unit.
fn duration(ns: u64) -> String {
    let scaled = |value: f64, unit: &str| {
        let decimals = if value < 9.995 {
            2
        } else {
            usize::from(value < 99.95)
        };
        format!("{value:.decimals$} {unit}")
    };
    match ns {
        0..=999 => format!("{ns} ns"),
        1_000..=999_999 => scaled(ns as f64 / 1e3, "µs"),
        1_000_000..=999_999_999 => scaled(ns as f64 / 1e6, "ms"),
        _ => scaled(ns as f64 / 1e9, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_have_three_figures_and_a_unit() {
        let table = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1234, "1.23 µs"),
            (30_049, "30.0 µs"),
            (99_960, "100 µs"),
        ];
        table
            .iter()
            .for_each(|&(ns, text)| assert_eq!(duration(ns), text));
        assert_eq!(duration(2_500_000_000), "2.50 s");
    }
}
