//! Everything that is counted and timed about one target.

use feedbench_record::{ExactHistogram, Sample};

use crate::check::{Sent, Verdict};
use crate::result::ErrorCount;
use crate::warmup::WarmupBins;

/// One stretch of time in which a target is loaded, with the parts that do not count at its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When sending begins.
    pub start_ns: u64,
    /// Messages meant to leave before this are not recorded at all: caches still hold another target.
    pub drop_until_ns: u64,
    /// Messages meant to leave before this are warm-up.
    pub measure_from_ns: u64,
    /// When sending ends.
    pub end_ns: u64,
    /// Number of the slice, in the samples.
    pub slice: u32,
}

impl Window {
    /// Measured time in ns.
    pub fn measured_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.measure_from_ns)
    }
}

/// Counts of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sent and meant to leave in measured time.
    pub sent: u64,
    /// Answers to those, wrong ones included: sent = received + lost.
    pub received: u64,
    /// Never answered, or not within the time-out.
    pub lost: u64,
    /// Answers with a content that was not sent.
    pub wrong: u64,
    /// Second answers.
    pub duplicated: u64,
    /// Answers that came after that of a younger message.
    pub out_of_order: u64,
    /// Messages that the pacer wanted to leave in measured time.
    pub scheduled: u64,
    /// Answers that came within measured time.
    pub in_time: u64,
    /// All sent since connecting.
    pub sent_total: u64,
    /// All answered since connecting.
    pub received_total: u64,
    /// Due messages that the socket did not take before the drain ended.
    pub unsent: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.duplicated += other.duplicated;
        self.out_of_order += other.out_of_order;
        self.scheduled += other.scheduled;
        self.in_time += other.in_time;
        self.sent_total += other.sent_total;
        self.received_total += other.received_total;
        self.unsent += other.unsent;
    }
}

/// Histograms, counts, samples and errors of one target on one thread.
pub struct Recorder {
    window: Window,
    /// Open loops have three different times; in a closed loop intended and sent are the same moment.
    open_loop: bool,
    /// From intended send time to answer.
    pub latency: ExactHistogram,
    /// From actual send time to answer. Empty in a closed loop.
    pub latency_from_send: ExactHistogram,
    /// Actual minus intended send time. Empty in a closed loop.
    pub lateness: ExactHistogram,
    /// The first part of the run.
    pub warmup: WarmupBins,
    /// How often what happened.
    pub counts: Counts,
    /// Measured messages since they were last taken out, if samples are wanted.
    pub samples: Option<Vec<Sample>>,
    /// What went wrong.
    pub errors: Vec<ErrorCount>,
    /// Pings sent by a heartbeat.
    pub pings: u64,
    /// Answers to them.
    pub pongs: u64,
    /// Greetings of a stamp server.
    pub greetings: u64,
    /// Messages without an answer.
    pub waiting: usize,
    /// Number of this thread's first connection.
    token_base: u32,
}

impl Recorder {
    /// Nothing recorded yet. `token_base` is the number of the first connection of this thread.
    pub fn new(open_loop: bool, token_base: u32) -> Self {
        let never = Window {
            start_ns: u64::MAX,
            drop_until_ns: u64::MAX,
            measure_from_ns: u64::MAX,
            end_ns: u64::MAX,
            slice: 0,
        };
        Self {
            window: never,
            open_loop,
            latency: ExactHistogram::new(),
            latency_from_send: ExactHistogram::new(),
            lateness: ExactHistogram::new(),
            warmup: WarmupBins::default(),
            counts: Counts::default(),
            samples: None,
            errors: Vec::new(),
            pings: 0,
            pongs: 0,
            greetings: 0,
            waiting: 0,
            token_base,
        }
    }

    /// What follows belongs to this window; `active_ns` is the target's loaded time before it.
    pub fn begin(&mut self, window: Window, active_ns: u64) {
        self.window = window;
        self.warmup.begin(window.start_ns, active_ns);
    }

    /// The pacer wants a message to leave at this time.
    #[inline]
    pub fn scheduled(&mut self, intended_ns: u64) {
        self.counts.scheduled += u64::from(intended_ns >= self.window.measure_from_ns);
    }

    /// A message left.
    #[inline]
    pub fn sent(&mut self, intended_ns: u64) {
        self.waiting += 1;
        self.counts.sent_total += 1;
        self.counts.sent += u64::from(intended_ns >= self.window.measure_from_ns);
    }

    /// An answer was judged; returns how many messages it settles (0 or 1). Allocation-free but for samples beyond
    /// the buffer's room.
    #[inline]
    pub fn judge(&mut self, verdict: Verdict, received_ns: u64, token: u32) -> usize {
        match verdict {
            Verdict::InOrder(sent) => self.answered(sent, received_ns, token),
            odd => return self.judge_odd(odd, received_ns, token),
        }
        1
    }

    #[cold]
    fn judge_odd(&mut self, verdict: Verdict, received_ns: u64, token: u32) -> usize {
        match verdict {
            Verdict::InOrder(sent) | Verdict::Early(sent) => {
                self.answered(sent, received_ns, token)
            }
            Verdict::OutOfOrder(sent) => {
                self.counts.out_of_order += 1;
                self.answered(sent, received_ns, token);
            }
            Verdict::Wrong(sent) => {
                self.counts.wrong += 1;
                self.counts.received += u64::from(sent.intended_ns >= self.window.measure_from_ns);
                self.counts.received_total += 1;
                self.waiting -= 1;
            }
            Verdict::Greeting => {
                self.greetings += 1;
                return 0;
            }
            Verdict::OddGreeting => {
                self.greetings += 1;
                self.error("greeting", "a greeting names a time outside of the run");
                return 0;
            }
            Verdict::Ungreeted(sent) => {
                self.error(
                    "greeting",
                    "an answer came on a connection that was not greeted",
                );
                self.answered(sent, received_ns, token);
            }
            Verdict::Unasked => {
                self.error("unasked", "a message came that answers nothing");
                return 0;
            }
            Verdict::Duplicate => {
                self.counts.duplicated += 1;
                return 0;
            }
            Verdict::Late => {
                self.error(
                    "late",
                    "an answer came after its message was given up as lost",
                );
                return 0;
            }
        }
        1
    }

    #[inline]
    fn answered(&mut self, sent: Sent, received_ns: u64, token: u32) {
        self.waiting -= 1;
        self.counts.received_total += 1;
        let latency_ns = received_ns.saturating_sub(sent.intended_ns);
        if sent.intended_ns >= self.window.measure_from_ns {
            self.counts.received += 1;
            self.latency.record(latency_ns);
            if self.open_loop {
                self.latency_from_send
                    .record(received_ns.saturating_sub(sent.sent_ns));
                self.lateness.record(sent.sent_ns - sent.intended_ns);
            }
            if let Some(samples) = &mut self.samples {
                let (intended_ns, sent_ns) = (sent.intended_ns, sent.sent_ns);
                let connection = self.token_base + token;
                samples.push(Sample {
                    intended_ns,
                    sent_ns,
                    received_ns,
                    connection,
                    slice: self.window.slice,
                });
            }
        } else if sent.intended_ns >= self.window.drop_until_ns {
            self.warmup.record(sent.intended_ns, latency_ns);
        }
        let in_time =
            received_ns >= self.window.measure_from_ns && received_ns < self.window.end_ns;
        self.counts.in_time += u64::from(in_time);
    }

    /// A message will not be answered any more.
    pub fn lost(&mut self, sent: Sent) {
        self.waiting -= 1;
        self.counts.lost += u64::from(sent.intended_ns >= self.window.measure_from_ns);
    }

    /// Takes in what another thread recorded.
    pub fn merge(&mut self, other: Self) {
        self.latency.merge(&other.latency);
        self.latency_from_send.merge(&other.latency_from_send);
        self.lateness.merge(&other.lateness);
        self.warmup.merge(other.warmup);
        self.counts.add(&other.counts);
        self.pings += other.pings;
        self.pongs += other.pongs;
        self.greetings += other.greetings;
        for error in other.errors {
            match self.errors.iter_mut().find(|mine| mine.kind == error.kind) {
                Some(mine) => mine.count += error.count,
                None => self.errors.push(error),
            }
        }
    }

    /// Sorts what the histograms put off. Takes time: call it between windows.
    pub fn compact(&mut self) {
        self.latency.compact();
        self.latency_from_send.compact();
        self.lateness.compact();
    }

    /// Counts an error under its kind and keeps the first one's words.
    pub fn error(&mut self, kind: &str, text: &str) {
        match self.errors.iter_mut().find(|error| error.kind == kind) {
            Some(error) => error.count += 1,
            None => self.errors.push(ErrorCount {
                kind: kind.to_owned(),
                count: 1,
                first: text.to_owned(),
            }),
        }
    }
}
