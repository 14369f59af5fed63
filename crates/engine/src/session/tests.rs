//! The loop with a held clock and a server in memory: minutes pass in milliseconds, and every figure is exact.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};
use std::rc::Rc;

use feedbench_pace::Rate;
use feedbench_record::Quantile;
use feedbench_wire::frame::{append, Header};
use feedbench_wire::handshake::Established;
use feedbench_wire::mask;

use super::*;
use crate::payload::{PayloadKind, PayloadRequest};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// One look at the sockets of a loop that spins.
const STEP_NS: u64 = 50_000;
/// What the server takes for an answer.
const DELAY_NS: u64 = 200_000;

#[derive(Clone, Default)]
struct HeldClock(Rc<Cell<u64>>);

impl Clock for HeldClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

/// An echo server in memory. It may pause from 900 ms to 1 s of every second.
struct Memory {
    clock: HeldClock,
    pauses: bool,
    /// Answers with the time at which they are there, for each connection.
    answers: Vec<VecDeque<(u64, Vec<u8>)>>,
    alarm_ns: u64,
    /// Most messages that were ever on the way on one connection.
    deepest: Rc<Cell<usize>>,
    sent_at: Rc<RefCell<Vec<u64>>>,
}

impl Memory {
    fn answered_at(&self) -> u64 {
        let done_ns = self.clock.now_ns() + DELAY_NS;
        let in_second = done_ns % SECOND;
        if self.pauses && in_second >= 900 * MS {
            done_ns - in_second + SECOND
        } else {
            done_ns
        }
    }
}

impl Transport for Memory {
    fn add(&mut self, token: u32, _socket: i32) -> io::Result<()> {
        assert_eq!(token as usize, self.answers.len());
        self.answers.push(VecDeque::new());
        Ok(())
    }

    fn remove(&mut self, _token: u32, _socket: i32) {}

    fn ready(&mut self, wait: Wait, into: &mut Vec<Ready>) -> io::Result<()> {
        let first = self
            .answers
            .iter()
            .filter_map(|queue| queue.front())
            .map(|answer| answer.0)
            .min();
        let now_ns = self.clock.now_ns();
        let later_ns = match wait {
            Wait::Poll => now_ns + STEP_NS,
            Wait::Sleep => first.unwrap_or(u64::MAX).min(self.alarm_ns).max(now_ns),
        };
        self.clock.0.set(later_ns);
        for (token, queue) in self.answers.iter().enumerate() {
            if queue.front().is_some_and(|answer| answer.0 <= later_ns) {
                into.push(Ready {
                    token: token as u32,
                    readable: true,
                    writable: false,
                    ended: false,
                });
            }
        }
        Ok(())
    }

    fn receive(&mut self, token: u32, _socket: i32, into: &mut [u8]) -> io::Result<usize> {
        let (queue, mut filled) = (&mut self.answers[token as usize], 0);
        while let Some((_, bytes)) = queue
            .front()
            .filter(|answer| answer.0 <= self.clock.now_ns())
        {
            into[filled..filled + bytes.len()].copy_from_slice(bytes);
            filled += bytes.len();
            queue.pop_front();
        }
        if filled == 0 {
            Err(io::ErrorKind::WouldBlock.into())
        } else {
            Ok(filled)
        }
    }

    fn send(&mut self, token: u32, _socket: i32, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some((header, start)) = Header::parse(rest).unwrap() {
            let end = start + header.payload_bytes as usize;
            let mut payload = rest[start..end].to_vec();
            mask::apply(header.mask.unwrap(), &mut payload, 0);
            let mut frame = Vec::new();
            append(
                &mut frame,
                Header {
                    mask: None,
                    ..header
                },
                &payload,
            );
            let at_ns = self.answered_at();
            self.answers[token as usize].push_back((at_ns, frame));
            self.sent_at.borrow_mut().push(self.clock.now_ns());
            rest = &rest[end..];
        }
        self.deepest
            .set(self.deepest.get().max(self.answers[token as usize].len()));
        Ok(bytes.len())
    }

    fn set_alarm(&mut self, at_ns: u64) {
        self.alarm_ns = at_ns;
    }
}

struct Bench {
    session: Session<Memory>,
    clock: HeldClock,
    deepest: Rc<Cell<usize>>,
    sent_at: Rc<RefCell<Vec<u64>>>,
}

impl Bench {
    fn new(pacer: Pacer, connections: u32, pauses: bool) -> Self {
        let clock = HeldClock::default();
        let (deepest, sent_at) = (Rc::default(), Rc::default());
        let transport = Memory {
            clock: clock.clone(),
            pauses,
            answers: Vec::new(),
            alarm_ns: 0,
            deepest: Rc::clone(&deepest),
            sent_at: Rc::clone(&sent_at),
        };
        let request = PayloadRequest {
            kind: PayloadKind::Binary,
            bytes: Some(20),
            file: None,
        };
        let mut session = Session::new(SessionParts {
            transport,
            payload: Payload::new(&request).unwrap(),
            pacer,
            timeout_ns: 2 * SECOND,
            reopener: None,
            recorder: Recorder::new(!pacer.waits_for_answers(), 0),
            key: [1, 2, 3, 4],
            fragmenting: Fragmenting::default(),
        });
        for token in 0..connections {
            let socket = std::fs::File::open("/dev/null").unwrap().into();
            let established = Established::default();
            let opened = Opened {
                socket,
                tls: None,
                established,
                leftover: Vec::new(),
                handshake_ns: 0,
            };
            session.adopt(token, opened, 0).unwrap();
        }
        Self {
            session,
            clock,
            deepest,
            sent_at,
        }
    }

    /// One window from now; the measured time.
    fn run(&mut self, length_ns: u64, warmup_ns: u64) -> u64 {
        let (interrupt, answered) = (AtomicBool::new(false), AtomicU64::new(0));
        let start_ns = self.clock.now_ns();
        let measure_from_ns = start_ns + warmup_ns;
        let window = Window {
            start_ns,
            drop_until_ns: start_ns,
            measure_from_ns,
            end_ns: start_ns + length_ns,
            slice: 0,
        };
        self.session.run(
            window,
            &self.clock,
            &mut Workspace::new(&interrupt, &answered),
        )
    }

    fn value_at(&self, quantile: Quantile) -> u64 {
        self.session.recorder.latency.value_at(quantile).unwrap()
    }
}

fn constant(per_second: u64) -> Pacer {
    Pacer::Constant {
        rate_per_s: Rate::per_second(per_second).unwrap(),
    }
}

fn closed(in_flight: u32) -> Pacer {
    Pacer::Closed {
        in_flight: NonZeroU32::new(in_flight).unwrap(),
    }
}

#[test]
fn a_constant_rate_keeps_its_schedule_for_a_minute() {
    let mut bench = Bench::new(constant(1000), 3, false);
    assert_eq!(bench.run(60 * SECOND, 0), 60 * SECOND);
    let counts = bench.session.recorder.counts;
    assert_eq!(
        (counts.scheduled, counts.sent, counts.received),
        (60_000, 60_000, 60_000)
    );
    assert!(bench.session.recorder.lateness.max().unwrap() <= STEP_NS);
    assert_eq!(bench.session.stalls, 0);
}

#[test]
fn a_pause_of_the_server_hits_every_message_that_was_due_in_it() {
    let mut bench = Bench::new(constant(1000), 1, true);
    bench.run(20 * SECOND, 0);
    // A tenth of the messages falls into pauses of 100 ms: their delays are spread evenly from 0 to 100 ms.
    for (quantile, implied_ms) in [
        (Quantile::P95, 50),
        (Quantile::P99, 90),
        (Quantile::P99_9, 99),
    ] {
        let found_ns = bench.value_at(quantile);
        assert!(
            found_ns.abs_diff(implied_ms * MS) <= 2 * MS,
            "{quantile:?}: {found_ns}"
        );
    }
    let mut closed_loop = Bench::new(closed(1), 1, true);
    closed_loop.run(20 * SECOND, 0);
    assert!(
        closed_loop.value_at(Quantile::P99) < MS,
        "the closed loop does not see them, hence its warning"
    );
}

#[test]
fn a_closed_loop_keeps_its_depth_and_nothing_beyond() {
    let mut bench = Bench::new(closed(4), 3, false);
    let measured_ns = bench.run(SECOND, 0);
    let counts = bench.session.recorder.counts;
    assert_eq!(bench.deepest.get(), 4);
    // Little's law, exactly: 12 on the way, 200 µs each.
    assert_eq!(
        (counts.in_time, measured_ns),
        (12 * (SECOND / DELAY_NS - 1), SECOND)
    );
    assert_eq!(
        (counts.sent, counts.received, bench.session.recorder.waiting),
        (counts.received, counts.sent, 0)
    );
    assert_eq!(bench.session.recorder.latency.max(), Some(DELAY_NS));
}

#[test]
fn a_schedule_goes_on_where_the_slice_before_stopped() {
    let mut bench = Bench::new(constant(300), 1, false);
    for slice in 0..10 {
        // Other targets run in between.
        bench.clock.0.set(slice * 7 * SECOND);
        bench.run(25 * MS, 0);
    }
    assert_eq!(
        bench.session.recorder.counts.sent, 75,
        "250 ms of loaded time at 300/s"
    );
}

#[test]
fn a_burst_leaves_at_once_on_every_connection() {
    let (messages, interval_ns) = (
        NonZeroU32::new(5).unwrap(),
        NonZeroU64::new(100 * MS).unwrap(),
    );
    let mut bench = Bench::new(
        Pacer::Burst {
            messages,
            interval_ns,
        },
        2,
        false,
    );
    bench.run(SECOND, 0);
    let sent_at = bench.sent_at.borrow();
    assert_eq!(sent_at.len(), 100);
    for burst in sent_at.chunks(10) {
        assert!(burst.iter().all(|&at| at == burst[0]), "{burst:?}");
    }
}

#[test]
fn the_warm_up_is_kept_apart() {
    let mut bench = Bench::new(constant(1000), 1, false);
    assert_eq!(bench.run(SECOND, 200 * MS), 800 * MS);
    let recorder = bench.session.recorder;
    assert_eq!(
        (recorder.counts.sent, recorder.counts.sent_total),
        (800, 1000)
    );
    let warmup = recorder.warmup.summarize();
    assert_eq!(
        warmup.bins.iter().map(|bin| bin.count).collect::<Vec<_>>(),
        [50, 50, 50, 50]
    );
}
