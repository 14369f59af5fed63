//! The least that could be done: messages that were built beforehand, written to every socket.

use super::rig::STREAMS;
use super::{Rate, Watch, OPENED_UNIX_NS, SLICE_NS};
use crate::runtime::clock::monotonic_ns;
use crate::runtime::poller::{Poller, Ready};
use feedbench_exchange::hub::Hub;
use feedbench_exchange::market::{Market, MarketConfig};
use feedbench_exchange::personality::binance::Binance;
use feedbench_exchange::personality::Request;
use feedbench_exchange::time::ExchangeClock;
use feedbench_record::{ExactHistogram, Summary};
use feedbench_wire::frame::{append, Header, Opcode};
use rustix::event::{eventfd, EventfdFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::OwnedFd;

/// The first messages that the market thread sends, as frames one after the other.
#[derive(Default)]
pub struct Script {
    bytes: Vec<u8>,
    /// Where each frame ends.
    ends: Vec<usize>,
    /// When each is due, after the market's opening.
    due_ns: Vec<u64>,
}

impl Script {
    /// At least so many messages of a market.
    pub fn of(config: &MarketConfig, messages: usize) -> Self {
        let clock = ExchangeClock::right(OPENED_UNIX_NS);
        let mut market = Market::open(config, clock).expect("valid");
        let mut hub = Hub::new(Binance::new(&market));
        hub.open(&market, &Request::get(STREAMS), 0, &mut Vec::new())
            .expect("accepted");
        let mut script = Self::default();
        while script.ends.len() < messages {
            let event = market.next().expect("endless");
            hub.on_event(&market, &event);
            hub.deliver(event.published_ns, |_, _, parts| {
                let payload = parts.concat();
                let header = Header::message(Opcode::Text, payload.len() as u64, None);
                append(&mut script.bytes, header, &payload);
                script.ends.push(script.bytes.len());
                script.due_ns.push(event.published_ns);
            });
        }
        script
    }

    fn frames(&self, range: Range<usize>) -> &[u8] {
        let start = range.start.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.bytes[start..self.ends[range.end - 1]]
    }
}

/// Writes a script to sockets.
pub struct RawLoop<'a> {
    sockets: &'a [TcpStream],
    script: Script,
    next: usize,
    poller: Poller,
    ready: Vec<Ready>,
    _bell: OwnedFd,
}

impl<'a> RawLoop<'a> {
    pub fn new(sockets: &'a [TcpStream], script: Script) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK)?;
        let poller = Poller::new(&bell)?;
        for (socket, token) in sockets.iter().zip(0..) {
            poller.add(socket, token)?;
        }
        Ok(Self {
            sockets,
            script,
            next: 0,
            poller,
            ready: Vec::new(),
            _bell: bell,
        })
    }

    /// One slice of the script over and over, so many messages in each write.
    pub fn slice(&mut self, batch: usize) -> io::Result<Rate> {
        let watch = Watch::start();
        let mut messages = 0;
        loop {
            let end = (self.next + batch).min(self.script.ends.len());
            let range = self.next..end;
            messages += (range.len() * self.sockets.len()) as u64;
            self.write(range)?;
            self.next = end % self.script.ends.len();
            if let Some(rate) = watch.rate(messages, SLICE_NS) {
                return Ok(rate);
            }
        }
    }

    /// The script once, each message when it is due: from when it was due until its write began.
    pub fn paced(&mut self) -> io::Result<Summary> {
        let mut lag = ExactHistogram::new();
        let opened_ns = monotonic_ns();
        for index in 0..self.script.ends.len() {
            let due_ns = opened_ns + self.script.due_ns[index];
            let mut now_ns = monotonic_ns();
            while now_ns < due_ns {
                std::hint::spin_loop();
                now_ns = monotonic_ns();
            }
            lag.record(now_ns - due_ns);
            self.write(index..index + 1)?;
        }
        Ok(lag.summary())
    }

    fn write(&mut self, range: Range<usize>) -> io::Result<()> {
        let bytes = self.script.frames(range);
        for socket in self.sockets {
            let mut sent = 0;
            while sent < bytes.len() {
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                match rustix::net::send(socket, &bytes[sent..], flags) {
                    Ok(count) => sent += count,
                    Err(Errno::AGAIN) => self.poller.wait(SLICE_NS, &mut self.ready)?,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }
}
