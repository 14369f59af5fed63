//! What it came to: who had how much of what the others had, and how far apart they had it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, BufWriter};

use feedbench_record::{
    write_receipts, ExactHistogram, Receipt, ReceiptHeader, ReceiptKind, Summary,
};
use serde::Serialize;

use super::arguments::SubscribeArguments;
use super::journal::Journal;
use crate::result::{ErrorCount, SCHEMA};

/// All at once out, and back.
#[derive(Debug, Clone, Serialize)]
pub struct Storm {
    /// When all left.
    pub began_ns: u64,
    /// From then until the last was back; absent if somebody never came back.
    pub all_back_ns: Option<u64>,
    /// How many came back.
    pub back: u32,
    /// Handshakes that failed on the way.
    pub refused: u64,
    #[serde(skip)]
    away: Vec<bool>,
}

impl Storm {
    /// Everybody is away.
    pub fn new(began_ns: u64, subscribers: u32) -> Self {
        Self {
            began_ns,
            all_back_ns: None,
            back: 0,
            refused: 0,
            away: vec![true; subscribers as usize],
        }
    }

    /// A handshake is done.
    pub fn came_back(&mut self, place: u32, now_ns: u64) {
        if std::mem::take(&mut self.away[place as usize]) {
            self.back += 1;
            if self.back as usize == self.away.len() {
                self.all_back_ns = Some(now_ns - self.began_ns);
            }
        }
    }
}

/// What a run leaves.
pub struct Outcome {
    /// Everything that happened.
    pub journal: Journal,
    /// How many of the first subscribers stopped reading.
    pub slow: u32,
    /// How many there are.
    pub subscribers: u32,
    /// From the last handshake to the end.
    pub elapsed_ns: u64,
    /// Handshakes done, the first ones included.
    pub connections: u64,
    /// If there was one.
    pub storm: Option<Storm>,
    /// What went wrong.
    pub errors: Vec<ErrorCount>,
}

/// One subscriber's part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Messages.
    pub received: u64,
    /// What another had between this one's first and last message, and it had not.
    pub missing: u64,
    /// What only this one had again, where there are others to tell.
    pub repeated: u64,
    /// Neighbours that came the other way round than to most.
    pub reordered: u64,
}

/// What `subscribe` prints.
#[derive(Debug, Serialize)]
pub struct SubscribeSummary {
    schema: u32,
    url: String,
    subscribers: u32,
    elapsed_ns: u64,
    /// Messages of all.
    pub received_total: u64,
    received_per_s: f64,
    /// By number.
    each: Vec<Part>,
    /// From the first subscriber's receipt of an event to the last one's, of events that all had; without those who
    /// stopped reading.
    skew_ns: Summary,
    connections: u64,
    storm: Option<Storm>,
    errors: Vec<ErrorCount>,
}

impl Outcome {
    /// Writes the file of receipts.
    pub fn write_receipts(
        &self,
        arguments: &SubscribeArguments,
        file: std::fs::File,
    ) -> io::Result<()> {
        let header = ReceiptHeader {
            clock: "CLOCK_MONOTONIC".to_owned(),
            url: arguments.url.clone(),
            subscribers: self.subscribers,
        };
        write_receipts(BufWriter::new(file), &header, self.journal.iter())
    }

    /// The numbers.
    pub fn summary(&self, arguments: &SubscribeArguments) -> SubscribeSummary {
        let (each, skews) = compare(self.journal.iter(), self.subscribers, self.slow);
        let received_total = each.iter().map(|part| part.received).sum();
        SubscribeSummary {
            schema: SCHEMA,
            url: arguments.url.clone(),
            subscribers: self.subscribers,
            elapsed_ns: self.elapsed_ns,
            received_total,
            received_per_s: received_total as f64 / (self.elapsed_ns.max(1) as f64 / 1e9),
            each,
            skew_ns: Summary::from(&skews),
            connections: self.connections,
            storm: self.storm.clone(),
            errors: self.errors.clone(),
        }
    }
}

/// An event is a payload for the n-th time: so true repetitions of one text are told apart.
#[derive(Debug, PartialEq, Eq, Hash, Clone, Copy)]
struct Event {
    bytes: u32,
    crc32: u32,
    occurrence: u32,
}

/// When an event came first and last, and to how many of those who read.
#[derive(Debug, Clone, Copy)]
struct Seen {
    first_ns: u64,
    last_ns: u64,
    by_readers: u32,
    by_all: u32,
}

fn compare<'a>(
    journal: impl Iterator<Item = &'a Receipt>,
    subscribers: u32,
    slow: u32,
) -> (Vec<Part>, ExactHistogram) {
    let mut numbers: HashMap<Event, u32> = HashMap::new();
    let mut seen: Vec<(Event, Seen)> = Vec::new();
    let mut occurrences: HashMap<(u32, u32, u32), u32> = HashMap::new();
    let mut courses: Vec<Vec<u32>> = vec![Vec::new(); subscribers as usize];
    for receipt in journal {
        if !matches!(receipt.kind, ReceiptKind::Text | ReceiptKind::Binary) {
            continue;
        }
        let occurrence = occurrences
            .entry((receipt.subscriber, receipt.bytes, receipt.crc32))
            .or_default();
        let event = Event {
            bytes: receipt.bytes,
            crc32: receipt.crc32,
            occurrence: *occurrence,
        };
        *occurrence += 1;
        let number = *numbers.entry(event).or_insert_with(|| {
            let untouched = Seen {
                first_ns: receipt.at_ns,
                last_ns: receipt.at_ns,
                by_readers: 0,
                by_all: 0,
            };
            seen.push((event, untouched));
            seen.len() as u32 - 1
        });
        let (_, what) = &mut seen[number as usize];
        what.by_all += 1;
        if receipt.subscriber >= slow {
            what.by_readers += 1;
            what.last_ns = receipt.at_ns;
        }
        courses[receipt.subscriber as usize].push(number);
    }
    let mut skews = ExactHistogram::new();
    for (_, what) in &seen {
        if subscribers - slow > 1 && what.by_readers == subscribers - slow {
            skews.record(what.last_ns - what.first_ns);
        }
    }
    let reordered = reordered(&courses);
    let each = courses
        .iter()
        .zip(reordered)
        .map(|(course, reordered)| Part {
            reordered,
            ..part(course, &seen, subscribers)
        })
        .collect();
    (each, skews)
}

/// How often each subscriber had two neighbours the other way round than most.
///
/// Numbers are by first arrival, which a subscriber with the wrong order may have been: so the others are asked about
/// each pair that anybody had in descending order.
fn reordered(courses: &[Vec<u32>]) -> Vec<u64> {
    let descents = courses.iter().flat_map(|course| course.windows(2));
    let pairs: BTreeSet<(u32, u32)> = descents
        .filter(|pair| pair[1] < pair[0])
        .map(|pair| (pair[1], pair[0]))
        .collect();
    let suspicious: HashSet<u32> = pairs.iter().flat_map(|&(low, high)| [low, high]).collect();
    let places: Vec<HashMap<u32, usize>> = courses
        .iter()
        .map(|course| {
            let numbered = course.iter().enumerate();
            numbered
                .filter(|(_, number)| suspicious.contains(number))
                .map(|(place, &number)| (number, place))
                .collect()
        })
        .collect();
    let mut counts = vec![0; courses.len()];
    for (low, high) in pairs {
        let (mut ascending, mut descending) = (Vec::new(), Vec::new());
        for (subscriber, places) in places.iter().enumerate() {
            match (places.get(&low), places.get(&high)) {
                (Some(low), Some(high)) if low < high => ascending.push(subscriber),
                (Some(_), Some(_)) => descending.push(subscriber),
                _ => {}
            }
        }
        let wrong = if descending.len() <= ascending.len() {
            descending
        } else {
            ascending
        };
        wrong
            .into_iter()
            .for_each(|subscriber| counts[subscriber] += 1);
    }
    counts
}

fn part(course: &[u32], seen: &[(Event, Seen)], subscribers: u32) -> Part {
    let (Some(least), Some(most)) = (course.iter().min(), course.iter().max()) else {
        return Part::default();
    };
    let only_here = |number: &&u32| {
        let (event, what) = &seen[**number as usize];
        subscribers > 1 && event.occurrence > 0 && what.by_all == 1
    };
    let repeated = course.iter().filter(only_here).count() as u64;
    let others = seen[*least as usize..=*most as usize]
        .iter()
        .filter(|(event, what)| !(event.occurrence > 0 && what.by_all == 1))
        .count() as u64;
    let received = course.len() as u64;
    Part {
        received,
        missing: others.saturating_sub(received - repeated),
        repeated,
        reordered: 0,
    }
}

impl SubscribeSummary {
    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let sum = |of: fn(&Part) -> u64| self.each.iter().map(of).sum::<u64>();
        let ms = |value: Option<u64>| value.unwrap_or(0) as f64 / 1e6;
        let _ = writeln!(
            text,
            "{}  {} subscribers, {} messages, {:.0}/s; missing {}, repeated {}, reordered {}",
            self.url,
            self.subscribers,
            self.received_total,
            self.received_per_s,
            sum(|part| part.missing),
            sum(|part| part.repeated),
            sum(|part| part.reordered)
        );
        if self.skew_ns.count > 0 {
            let _ = writeln!(
                text,
                "  first to last  p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
                ms(self.skew_ns.p50),
                ms(self.skew_ns.p99),
                ms(self.skew_ns.max)
            );
        }
        if let Some(storm) = &self.storm {
            let _ = match storm.all_back_ns {
                Some(ns) => writeln!(
                    text,
                    "  all {} back after {:.1} ms",
                    storm.back,
                    ns as f64 / 1e6
                ),
                None => writeln!(
                    text,
                    "  only {} of {} came back",
                    storm.back, self.subscribers
                ),
            };
        }
        for error in &self.errors {
            let _ = writeln!(
                text,
                "  {} times {}: {}",
                error.count, error.kind, error.first
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipts(courses: &[(u32, &[u32])]) -> Vec<Receipt> {
        // Round robin: the n-th message of each, then the next.
        let longest = courses
            .iter()
            .map(|(_, course)| course.len())
            .max()
            .unwrap_or(0);
        let mut made = Vec::new();
        for at in 0..longest {
            for (subscriber, course) in courses {
                if let Some(&crc32) = course.get(at) {
                    made.push(Receipt {
                        at_ns: 1000 * at as u64 + u64::from(*subscriber),
                        subscriber: *subscriber,
                        bytes: 1,
                        crc32,
                        kind: ReceiptKind::Text,
                    });
                }
            }
        }
        made
    }

    fn parts(courses: &[(u32, &[u32])]) -> Vec<Part> {
        let made = receipts(courses);
        compare(made.iter(), courses.len() as u32, 0).0
    }

    #[test]
    fn what_one_lacks_repeats_or_swaps_is_told_from_what_the_others_had() {
        let table: [(&str, &[u32], [u64; 3]); 5] = [
            ("the same", &[1, 2, 2, 3, 4], [0, 0, 0]),
            ("one is missing", &[1, 2, 2, 4], [1, 0, 0]),
            ("came later, left earlier", &[2, 2, 3], [0, 0, 0]),
            ("one twice", &[1, 2, 2, 3, 3, 4], [0, 1, 0]),
            ("two swapped", &[1, 2, 2, 4, 3], [0, 0, 1]),
        ];
        for (sentence, course, [missing, repeated, reordered]) in table {
            let found = &parts(&[(0, &[1, 2, 2, 3, 4]), (1, &[1, 2, 2, 3, 4]), (2, course)])[2];
            let told = [found.missing, found.repeated, found.reordered];
            assert_eq!(told, [missing, repeated, reordered], "{sentence}");
        }
    }

    #[test]
    fn who_swapped_is_told_by_the_others_even_if_it_was_first() {
        let swapped = &[1, 3, 2, 4];
        let found = parts(&[(0, swapped), (1, &[1, 2, 3, 4]), (2, &[1, 2, 3, 4])]);
        let told: Vec<u64> = found.iter().map(|part| part.reordered).collect();
        assert_eq!(told, [1, 0, 0]);
    }

    #[test]
    fn skew_is_from_the_first_reader_to_the_last() {
        let made = receipts(&[(0, &[1, 2]), (1, &[1, 2]), (2, &[1, 2])]);
        let (_, all) = compare(made.iter(), 3, 0);
        assert_eq!(Summary::from(&all).max, Some(2));
        let some = receipts(&[(0, &[1, 2]), (1, &[1, 2]), (2, &[1])]);
        let (_, whole) = compare(some.iter(), 3, 0);
        assert_eq!(Summary::from(&whole).count, 1, "only what all had");
    }
}
