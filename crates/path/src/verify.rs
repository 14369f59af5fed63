//! Whether a path does what was asked of it, measured from its ends as any program would meet it.

use feedbench_record::{ExactHistogram, Summary};
use nix::sys::eventfd::EventFd;
use serde::Serialize;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use crate::emulator::{Path, PathError, ADDRESSES};
use crate::link::Shape;
use crate::namespace::Namespace;

const PINGS: u32 = 400;
const PING_BYTES: usize = 32;
const COUNTED: u32 = 20_000;
const COUNTED_PAUSE: Duration = Duration::from_micros(100);
const BULK_BYTES: usize = 1_400;
const BULK_TIME: Duration = Duration::from_millis(1_500);
const UDP_AND_IP_BYTES: usize = 28;
/// After the last packet was sent, this long beyond the path's own time.
const LAST_WAIT: Duration = Duration::from_millis(300);
const RECEIVE_BUFFER_BYTES: libc::c_int = 32 << 20;

const DELAY_TOLERANCE: f64 = 0.02;
const RATE_TOLERANCE: f64 = 0.05;
/// Standard deviations of a binomial: less than one path in a thousand is beyond them by chance.
const LOSS_DEVIATIONS: f64 = 3.5;

/// What keeps a path from being measured.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It could not be laid.
    #[error(transparent)]
    Path(#[from] PathError),
    /// At its ends.
    #[error("the probes could not be sent")]
    Probe(#[from] io::Error),
    /// Nothing came back at all.
    #[error("no probe came back over the path")]
    Silent,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// Median round trip over a path that does nothing: what this machine adds.
    pub floor_ns: u64,
    /// Round trips of single packets.
    pub round_trip_ns: Summary,
    /// Packets sent one way to count the losses, and how many did not come.
    pub counted: u32,
    /// Of those.
    pub lost: u32,
    /// What comes through of too much, IP headers included; None where no rate was asked for.
    pub rate_bits_per_s: Option<f64>,
}

/// A packet's number and when it came.
type Arrival = (u32, Instant);

/// What was asked, what was found, and where they differ by more than they may.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The same in both directions.
    pub asked: Shape,
    /// By the probes.
    pub found: Found,
    /// Empty when the path may be used.
    pub departures: Vec<String>,
}

impl Verdict {
    /// Holds what was found against what was asked.
    #[must_use]
    pub fn of(asked: Shape, found: Found) -> Self {
        let departures = [
            delay_departure(&asked, &found),
            loss_departure(&asked, &found),
            rate_departure(&asked, &found),
        ];
        Self {
            asked,
            departures: departures.into_iter().flatten().collect(),
            found,
        }
    }
}

/// Lays such a path, probes it and takes it up again.
pub fn verify(shape: Shape, congestion: Option<&str>, seed: u64) -> Result<Verdict, VerifyError> {
    let plain = Shape {
        delay_ns: 0,
        jitter_ns: 0,
        loss: 0.0,
        rate_bits_per_s: None,
        queue_ns: 0,
    };
    let floor = over(plain, None, seed, |ends| round_trips(ends, &plain))?;
    let found = over(shape, congestion, seed, |ends| {
        let (counted, lost) = losses(ends, &shape)?;
        Ok(Found {
            floor_ns: floor.p50.unwrap_or(0),
            round_trip_ns: round_trips(ends, &shape)?,
            counted,
            lost,
            rate_bits_per_s: shape
                .rate_bits_per_s
                .map(|rate| bulk_rate(ends, rate, &shape))
                .transpose()?,
        })
    })?;
    Ok(Verdict::of(shape, found))
}

fn delay_departure(asked: &Shape, found: &Found) -> Option<String> {
    let sending_ns = asked.sending_ns(PING_BYTES + UDP_AND_IP_BYTES);
    let wanted_ns = (2 * (asked.delay_ns + sending_ns) + found.floor_ns) as f64;
    let median_ns = found.round_trip_ns.p50? as f64;
    // What a path of no delay adds is the floor itself, which moves by more than that.
    let tolerance_ns = (DELAY_TOLERANCE * wanted_ns).max(found.floor_ns as f64);
    ((median_ns - wanted_ns).abs() > tolerance_ns).then(|| {
        format!(
            "round trips take {:.3} ms in the median instead of {:.3} ms",
            median_ns / 1e6,
            wanted_ns / 1e6
        )
    })
}

fn loss_departure(asked: &Shape, found: &Found) -> Option<String> {
    let counted = f64::from(found.counted);
    let wanted = counted * asked.loss;
    let tolerance = LOSS_DEVIATIONS * (wanted * (1.0 - asked.loss)).sqrt();
    ((f64::from(found.lost) - wanted).abs() > tolerance.max(0.5)).then(|| {
        format!(
            "{} of {} packets were lost instead of {wanted:.0}",
            found.lost, found.counted
        )
    })
}

fn rate_departure(asked: &Shape, found: &Found) -> Option<String> {
    let wanted = asked.rate_bits_per_s? as f64 * (1.0 - asked.loss);
    let rate = found.rate_bits_per_s?;
    ((rate - wanted).abs() > RATE_TOLERANCE * wanted).then(|| {
        format!(
            "{:.3} Mbit/s come through instead of {:.3}",
            rate / 1e6,
            wanted / 1e6
        )
    })
}

/// Runs `probe` while a path of that shape carries packets.
fn over<T: Send>(
    shape: Shape,
    congestion: Option<&str>,
    seed: u64,
    probe: impl FnOnce(&[Namespace; 2]) -> Result<T, VerifyError> + Send,
) -> Result<T, VerifyError> {
    let (mut path, ends) = Path::lay([shape; 2], congestion, seed)?;
    let stop = EventFd::new().map_err(io::Error::from)?;
    thread::scope(|scope| {
        let carrying = scope.spawn(|| path.carry(stop.as_fd()));
        let result = probe(&ends);
        stop.write(1).map_err(io::Error::from)?;
        carrying.join().expect("carrying does not panic")?;
        result
    })
}

fn socket(ends: &[Namespace; 2], end: usize) -> io::Result<UdpSocket> {
    ends[end].run(move || {
        let socket = UdpSocket::bind((ADDRESSES[end], 0))?;
        socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        force_receive_buffer(&socket)?;
        Ok(socket)
    })
}

/// So that what is not received was lost on the path, and not because we looked too late.
fn force_receive_buffer(socket: &UdpSocket) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let bytes = RECEIVE_BUFFER_BYTES;
    // SAFETY: the option is an int that lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const bytes).cast(),
            size_of_val(&bytes) as libc::socklen_t,
        )
    };
    nix::errno::Errno::result(result)?;
    Ok(())
}

/// Receives until nothing has come for so long after the last packet was sent; each packet's head and time.
fn receive_all(
    socket: &UdpSocket,
    wanted: u32,
    sent: &dyn Fn() -> bool,
    shape: &Shape,
) -> Vec<Arrival> {
    let patience =
        LAST_WAIT + Duration::from_nanos(2 * (shape.delay_ns + shape.jitter_ns) + shape.queue_ns);
    let mut buffer = [0; 2_048];
    let mut found = Vec::with_capacity(wanted as usize);
    let mut quiet_since = Instant::now();
    while found.len() < wanted as usize {
        match socket.recv(&mut buffer) {
            Ok(bytes) if bytes >= 4 => {
                quiet_since = Instant::now();
                let number = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
                found.push((number, quiet_since));
            }
            _ if !sent() => quiet_since = Instant::now(),
            _ if quiet_since.elapsed() > patience => break,
            _ => {}
        }
    }
    found
}

/// Sends `count` packets of `bytes`, one each `pause`, and returns when each was sent.
fn send_spaced(
    socket: &UdpSocket,
    to: (Ipv4Addr, u16),
    count: u32,
    bytes: usize,
    pause: Duration,
) -> Vec<Instant> {
    let mut packet = vec![0; bytes.max(4)];
    let began = Instant::now();
    (0..count)
        .map(|number| {
            let due = began + pause * number;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            packet[..4].copy_from_slice(&number.to_be_bytes());
            let sent = Instant::now();
            // What a full queue refuses counts as lost, as on any path.
            let _ = socket.send_to(&packet, to);
            sent
        })
        .collect()
}

/// Sends from the first end to `to` and receives at `at` meanwhile.
fn exchange(
    from: &UdpSocket,
    to: &UdpSocket,
    at: &UdpSocket,
    (count, bytes, pause): (u32, usize, Duration),
    shape: &Shape,
) -> io::Result<(Vec<Instant>, Vec<Arrival>)> {
    let port = to.local_addr()?.port();
    Ok(thread::scope(|scope| {
        let sending = scope.spawn(|| send_spaced(from, (ADDRESSES[1], port), count, bytes, pause));
        let found = receive_all(at, count, &|| sending.is_finished(), shape);
        (sending.join().expect("sending does not panic"), found)
    }))
}

/// Single packets there and back, so far apart that jitter makes none wait for another.
fn round_trips(ends: &[Namespace; 2], shape: &Shape) -> Result<Summary, VerifyError> {
    let (here, there) = (socket(ends, 0)?, socket(ends, 1)?);
    let pause = Duration::from_nanos(2 * shape.jitter_ns) + Duration::from_millis(1);
    let echoing = there.try_clone()?;
    let done = std::sync::atomic::AtomicBool::new(false);
    let (sent, found) = thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 64];
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                if let Ok((bytes, from)) = echoing.recv_from(&mut buffer) {
                    let _ = echoing.send_to(&buffer[..bytes], from);
                }
            }
        });
        let result = exchange(&here, &there, &here, (PINGS, PING_BYTES, pause), shape);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        result
    })?;
    let mut histogram = ExactHistogram::new();
    for (number, received) in found {
        histogram.record((received - sent[number as usize]).as_nanos() as u64);
    }
    if histogram.count() == 0 {
        return Err(VerifyError::Silent);
    }
    Ok(Summary::from(&histogram))
}

/// How many of how many small packets do not arrive, sent at no more than half the path's rate.
fn losses(ends: &[Namespace; 2], shape: &Shape) -> Result<(u32, u32), VerifyError> {
    const BYTES: usize = 32;
    let (here, there) = (socket(ends, 0)?, socket(ends, 1)?);
    let slowest = shape.rate_bits_per_s.map_or(Duration::ZERO, |rate| {
        Duration::from_secs_f64(2.0 * 8.0 * (BYTES + UDP_AND_IP_BYTES) as f64 / rate as f64)
    });
    let pause = COUNTED_PAUSE.max(slowest);
    // Where the path is slow, fewer: nobody waits for minutes to see a loss to the last digit.
    let count =
        (COUNTED as f64 * (COUNTED_PAUSE.as_secs_f64() / pause.as_secs_f64())).max(2_000.0) as u32;
    let (_, found) = exchange(&here, &there, &there, (count, BYTES, pause), shape)?;
    Ok((count, count - found.len() as u32))
}

/// What arrives of half as much again as the rate, between the first packet and the last.
fn bulk_rate(ends: &[Namespace; 2], rate: u64, shape: &Shape) -> Result<f64, VerifyError> {
    let (here, there) = (socket(ends, 0)?, socket(ends, 1)?);
    let packet_bits = 8.0 * (BULK_BYTES + UDP_AND_IP_BYTES) as f64;
    let pause = Duration::from_secs_f64(packet_bits / (1.5 * rate as f64));
    let count = (BULK_TIME.as_secs_f64() / pause.as_secs_f64()).max(20.0) as u32;
    let (_, found) = exchange(&here, &there, &there, (count, BULK_BYTES, pause), shape)?;
    let (Some(first), Some(last)) = (found.first(), found.last()) else {
        return Err(VerifyError::Silent);
    };
    Ok((found.len() - 1) as f64 * packet_bits / (last.1 - first.1).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Shape = Shape {
        delay_ns: 20_000_000,
        jitter_ns: 2_000_000,
        loss: 0.01,
        rate_bits_per_s: Some(10_000_000),
        queue_ns: 100_000_000,
    };

    fn found() -> Found {
        Found {
            floor_ns: 100_000,
            round_trip_ns: Summary {
                p50: Some(40_196_000),
                ..Summary::default()
            },
            counted: 20_000,
            lost: 200,
            rate_bits_per_s: Some(9_900_000.0),
        }
    }

    fn departures(change: impl FnOnce(&mut Found)) -> Vec<String> {
        let mut found = found();
        change(&mut found);
        Verdict::of(ASKED, found).departures
    }

    #[test]
    fn a_path_that_does_what_was_asked_may_be_used() {
        assert_eq!(departures(|_| ()), Vec::<String>::new());
        assert_eq!(departures(|found| found.lost = 230), Vec::<String>::new());
    }

    /// Twice 20 ms of delay, twice 48 µs to send 60 bytes at 10 Mbit/s, and a floor of 100 µs: 40.196 ms.
    #[test]
    fn a_median_that_is_three_percent_too_long_is_named() {
        assert_eq!(
            departures(|found| found.round_trip_ns.p50 = Some(41_300_000)),
            ["round trips take 41.300 ms in the median instead of 40.196 ms"]
        );
    }

    #[test]
    fn losses_that_chance_does_not_explain_are_named() {
        assert_eq!(
            departures(|found| found.lost = 300),
            ["300 of 20000 packets were lost instead of 200"]
        );
        assert_eq!(
            departures(|found| found.lost = 0),
            ["0 of 20000 packets were lost instead of 200"]
        );
    }

    #[test]
    fn a_rate_that_is_six_percent_off_is_named() {
        assert_eq!(
            departures(|found| found.rate_bits_per_s = Some(9_300_000.0)),
            ["9.300 Mbit/s come through instead of 9.900"]
        );
    }

    #[test]
    fn nothing_lost_is_right_where_no_loss_was_asked_for() {
        let asked = Shape { loss: 0.0, ..ASKED };
        let at = |lost| {
            Verdict::of(
                asked,
                Found {
                    lost,
                    rate_bits_per_s: Some(1e7),
                    ..found()
                },
            )
            .departures
        };
        assert_eq!(at(0), Vec::<String>::new());
        assert_eq!(at(1), ["1 of 20000 packets were lost instead of 0"]);
    }
}
