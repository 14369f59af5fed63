//! What a ramp reports, and when a target counts as broken. Pure.

use feedbench_record::Summary;
use serde::Serialize;

use crate::result::ErrorCount;

/// Why a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Every request has its answer.
    Answered,
    /// Nothing came any more.
    Silence,
    /// No connection was left.
    Disconnected,
    /// ^C or SIGTERM.
    Interrupted,
}

/// One round: connections are added, then all of them send their requests at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// Its schema.
    pub schema: u32,
    /// `round`, to tell the lines of a ramp apart.
    pub kind: &'static str,
    /// Counted from 1.
    pub round: u32,
    /// Connections that should stand.
    pub wanted: u32,
    /// Connections that stood when the requests left.
    pub connected: u32,
    /// New and renewed connections of this round.
    pub opened: u32,
    /// Those that replace one that was lost, or that failed, in an earlier round.
    pub renewed: u32,
    /// Attempts that failed.
    pub failed_connects: u32,
    /// From the first attempt to the end of the last one.
    pub connecting_ns: u64,
    /// Each handshake.
    pub handshake_ns: Summary,
    /// Requests that the round was to bring: `wanted` × requests per connection.
    pub requests: u64,
    /// Those that left.
    pub sent: u64,
    /// Those with a right answer in time.
    pub answered: u64,
    /// Sent ones without an answer.
    pub lost: u64,
    /// Sent ones with a wrong answer.
    pub wrong: u64,
    /// Second answers.
    pub duplicated: u64,
    /// Answers after that of a younger request.
    pub out_of_order: u64,
    /// Share of `requests` without a right answer.
    pub lost_share: f64,
    /// From the first send to the last right answer.
    pub elapsed_ns: u64,
    /// Right answers per second of that.
    pub answers_per_s: f64,
    /// From the moment of the burst to each answer.
    pub latency_ns: Summary,
    /// From the moment of the burst to each send.
    pub lateness_ns: Summary,
    /// Why the round ended.
    pub ended: Ended,
    /// Pings of the heartbeat, and answers to them.
    pub pings: u64,
    /// See `pings`.
    pub pongs: u64,
    /// Resident memory of the engine with all requests answered.
    pub engine_resident_bytes: u64,
    /// What went wrong.
    pub errors: Vec<ErrorCount>,
}

impl Round {
    /// Fills in what follows from the counts.
    pub fn complete(mut self) -> Self {
        let right = self.answered as f64;
        if self.requests > 0 {
            let unanswered = self.requests.saturating_sub(self.answered);
            self.lost_share = unanswered as f64 / self.requests as f64;
        }
        if self.elapsed_ns > 0 {
            self.answers_per_s = right * 1e9 / self.elapsed_ns as f64;
        }
        self
    }
}

/// The first round in which a target lost more than it may.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Broken {
    /// Its number.
    pub round: u32,
    /// Connections that it was to hold.
    pub connections: u32,
    /// Share of the requests without a right answer.
    pub lost_share: f64,
    /// The first error of that round in words.
    pub cause: String,
}

/// The first round that lost more than `allowed_share` of its requests. Requests of connections that could not be
/// opened count as lost: a server that turns clients away has broken for them.
pub fn first_broken(rounds: &[Round], allowed_share: f64) -> Option<Broken> {
    let round = rounds
        .iter()
        .filter(|round| round.ended != Ended::Interrupted)
        .find(|round| round.lost_share > allowed_share)?;
    let cause = match round.errors.first() {
        Some(error) => error.first.clone(),
        None => format!("{} wrong answers", round.wrong),
    };
    Some(Broken {
        round: round.round,
        connections: round.wanted,
        lost_share: round.lost_share,
        cause,
    })
}

/// Why there are no more rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// All rounds were played.
    Complete,
    /// A whole round without one right answer.
    NothingAnswered,
    /// ^C or SIGTERM.
    Interrupted,
}

/// The engine's memory for one connection, counted and not estimated from RSS, which holds much else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionMemory {
    /// Between rounds.
    pub idle_bytes: u64,
    /// With a burst under way; the most of all rounds.
    pub burst_bytes: u64,
}

/// Descriptors of the engine: what was opened must have been closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Descriptors {
    /// Before the first connection.
    pub before: u64,
    /// With the connections of the last round open.
    pub most: u64,
    /// After the last connection was closed.
    pub after: u64,
    /// More than one for each connection while they stood, and those left over at the end.
    pub leaked: u64,
}

/// The end of a ramp.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RampEnd {
    /// Its schema.
    pub schema: u32,
    /// `end`.
    pub kind: &'static str,
    /// Where the target was found.
    pub url: String,
    /// Rounds played.
    pub rounds: u32,
    /// Why there are no more.
    pub stopped: Stopped,
    /// Where it broke, if it did.
    pub broken: Option<Broken>,
    /// The rule for that.
    pub allowed_lost_share: f64,
    /// Time in all rounds from first send to last answer.
    pub requests_ns: u64,
    /// Time in all rounds for connecting.
    pub connecting_ns: u64,
    /// Requests with a right answer in all rounds.
    pub answered: u64,
    /// Requests of all rounds.
    pub requests: u64,
    /// Of the engine.
    pub connection_memory: ConnectionMemory,
    /// Of the engine.
    pub descriptors: Descriptors,
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A round of 100 connections with 10 requests each.
    pub fn round(number: u32, answered: u64) -> Round {
        let round = Round {
            schema: 1,
            kind: "round",
            round: number,
            wanted: 100,
            connected: 100,
            opened: 100,
            renewed: 0,
            failed_connects: 0,
            connecting_ns: 1,
            handshake_ns: Summary::default(),
            requests: 1000,
            sent: 1000,
            answered,
            lost: 1000 - answered,
            wrong: 0,
            duplicated: 0,
            out_of_order: 0,
            lost_share: 0.0,
            elapsed_ns: 500_000_000,
            answers_per_s: 0.0,
            latency_ns: Summary::default(),
            lateness_ns: Summary::default(),
            ended: Ended::Silence,
            pings: 0,
            pongs: 0,
            engine_resident_bytes: 0,
            errors: Vec::new(),
        };
        round.complete()
    }

    #[test]
    fn shares_and_rates_follow_from_the_counts() {
        let round = round(1, 900);
        assert!((round.lost_share - 0.1).abs() < 1e-12);
        assert_eq!(round.answers_per_s, 1800.0);
    }

    #[test]
    fn a_target_breaks_in_the_first_round_beyond_the_share() {
        let rounds = [round(1, 1000), round(2, 990), round(3, 989), round(4, 0)];
        let broken = first_broken(&rounds, 0.01).unwrap();
        assert_eq!((broken.round, broken.connections), (3, 100));
        assert_eq!(first_broken(&rounds[..2], 0.01), None);
    }

    #[test]
    fn an_interrupted_round_breaks_nothing() {
        let mut cut = round(1, 0);
        cut.ended = Ended::Interrupted;
        assert_eq!(first_broken(&[cut], 0.01), None);
    }
}
