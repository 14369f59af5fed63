//! The command line.

mod configure;
mod fault;
mod fix;
mod market_file;
mod replay;
mod units;

use crate::cli::fault::Fault;
use clap::{Parser, ValueEnum};
use feedbench_exchange::personality::fix::Dialect;
use feedbench_exchange::replay::Pace;
use feedbench_exchange_server::personalities::{Name, Place};
use feedbench_wire::deflate::Agreement;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use units::{bytes, duration_ns};

const ABOUT: &str = "\
A simulated exchange: real WebSocket and REST servers that speak as the exchanges document,
over one deterministic market.";

const LONG_ABOUT: &str = "\
A simulated exchange: real WebSocket and REST servers that speak as the exchanges document, over one deterministic
market. Each personality has a port of its own, which serves ws://, wss://, http:// and https:// alike; with --fix,
further ports speak FIX, plain or over TLS.

It runs until SIGTERM, SIGINT, --duration or --events, and says at its end what it sent and how late.";

const AFTER_HELP: &str = "\
Personalities:
  Each speaks of the same market in its exchange's words. A bot is pointed at one by its URL (printed at the start);
  one whose URLs are compiled in runs unchanged behind --namespace.

Rates:
  --rate is events per second over all symbols. An event is an order, a cancel or a trade; what a client gets of it
  depends on what it subscribed to. poisson: independent arrivals. hawkes: bursts, in which events cause others.

Faults, each with --fault, all by --fault-seed:
  gap|duplicate|reorder|malformed-json|invalid-utf8|cut : every=1000 | share=0.001 | at=5+9
  disconnect:after=30s   half-open:after=30s   mute:after=30s   handshake:delay=2s
  refusals:every=10s,for=2s   clock:skew=-1.272s,drift=1.4ms/5m

Replay:
  --replay FILE sends a recording to anybody who connects: one message a line, as `<Unix ns> <frame>` or
  `<Unix seconds>: <frame>`. One of Binance's combined streams is also served by stream and with its book over REST.

TLS:
  Certificates come from a private authority that is made at the first start and kept (--certificates). Programs that
  are to trust it are given its file, for example with SSL_CERT_FILE or NODE_EXTRA_CA_CERTS.

Examples:
  feedbench exchange --personality binance --symbols 20 --rate 5000
  feedbench exchange --personality binance --fix --json
  feedbench exchange --port 9001 --fault gap:every=1000 --ledger run.ledger --json
  feedbench exchange --namespace -- python my_bot.py";

/// What was asked for.
#[derive(Debug, Parser)]
#[command(name = "feedbench exchange", version, about = ABOUT, long_about = LONG_ABOUT, after_long_help = AFTER_HELP)]
pub struct Cli {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1", help_heading = "Doors")]
    pub host: IpAddr,
    /// Port of the first personality; the next get the following ones. 0: a free one for each
    #[arg(long, default_value = "0", help_heading = "Doors")]
    pub port: u16,
    /// Which exchanges; repeatable, or separated by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Doors")]
    pub personality: Vec<Name>,
    /// Where the private certificate authority is kept [default: feedbench/certificates in the user's cache]
    #[arg(long, value_name = "DIR", help_heading = "Doors")]
    pub certificates: Option<PathBuf>,
    /// Without TLS
    #[arg(long, conflicts_with_all = ["certificates", "namespace"], help_heading = "Doors")]
    pub no_tls: bool,

    /// FIX beside each personality that has it (binance, coinbase), and as the standard has it (4.2 and 4.4)
    #[arg(long, help_heading = "FIX")]
    pub fix: bool,
    /// Keep sequence numbers and sent messages here, so that sessions outlive this process
    #[arg(long, value_name = "DIR", help_heading = "FIX")]
    pub fix_store: Option<PathBuf>,
    /// Who may log on to Binance's FIX: an API key with the PEM file of its Ed25519 public key; repeatable [default: everybody]
    #[arg(long, value_name = "API_KEY=FILE", requires = "fix", value_parser = fix::key, help_heading = "FIX")]
    pub fix_key: Vec<fix::Key>,
    /// Announce a maintenance to each of Binance's FIX connections by News, and close it so long after its Logon
    #[arg(long, value_name = "SECONDS", requires = "fix", value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "FIX")]
    pub fix_maintenance: Option<u64>,
    /// Nothing but a FIX 4.2 and 4.4 acceptor, ISLD, for public acceptance suites: it echoes orders and resets at each Logon
    #[arg(long, conflicts_with_all = ["fix", "fix_store", "personality", "replay", "namespace"], help_heading = "FIX")]
    pub fix_acceptance: bool,

    /// How many symbols, or which: BTC,ETH/EUR [default: 10]
    #[arg(long, help_heading = "Market")]
    pub symbols: Option<configure::Symbols>,
    /// Events per second over all symbols [default: 1000]
    #[arg(long, value_name = "EVENTS_PER_S", help_heading = "Market")]
    pub rate: Option<f64>,
    /// When events happen [default: poisson]
    #[arg(long, value_enum, help_heading = "Market")]
    pub arrivals: Option<ArrivalKind>,
    /// With hawkes: events that one event causes on average, below 1 [default: 0.6]
    #[arg(long, value_name = "RATIO", help_heading = "Market")]
    pub branching_ratio: Option<f64>,
    /// With hawkes: how fast excitement decays, per second [default: 10]
    #[arg(long, value_name = "PER_S", help_heading = "Market")]
    pub decay: Option<f64>,
    /// Same seed, same events [default: 1]
    #[arg(long, help_heading = "Market")]
    pub seed: Option<u64>,
    /// Market and faults from a TOML file; what the command line says goes before it
    #[arg(
        long,
        visible_alias = "scenario",
        value_name = "FILE",
        help_heading = "Market"
    )]
    pub market: Option<PathBuf>,
    /// What the exchange's wall clock shows at the opening, in Unix seconds, so that a run repeats byte by byte
    #[arg(long, value_name = "SECONDS", help_heading = "Market")]
    pub opened_unix: Option<u64>,

    /// Send a recording to anybody who connects, instead of a market unless --personality is given, too; .gz is unpacked
    #[arg(long, value_name = "FILE", help_heading = "Replay")]
    pub replay: Option<PathBuf>,
    /// So many times as fast as it was recorded, or max
    #[arg(long, default_value = "1", value_parser = replay::pace, requires = "replay", help_heading = "Replay")]
    pub speed: Pace,
    /// So many times over; 0: without end
    #[arg(
        long = "loop",
        value_name = "TIMES",
        default_value = "1",
        requires = "replay",
        help_heading = "Replay"
    )]
    pub rounds: u64,

    /// End after this time
    #[arg(long, value_parser = duration_ns, help_heading = "Run")]
    pub duration: Option<u64>,
    /// End after so many events
    #[arg(long, help_heading = "Run")]
    pub events: Option<u64>,
    /// The market opens when so many connections have subscribed
    #[arg(
        long,
        value_name = "SUBSCRIBERS",
        default_value = "0",
        help_heading = "Run"
    )]
    pub wait_for: usize,
    /// Record of every message: born, scheduled, sent (spec/ledger.md)
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub ledger: Option<PathBuf>,
    /// The first line on stdout is a JSON object with the URLs, the last one with the totals
    #[arg(long, help_heading = "Run")]
    pub json: bool,
    /// The same, into this file
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub json_file: Option<PathBuf>,

    /// What goes wrong on purpose; repeatable
    #[arg(long, value_name = "KIND:KEY=VALUE,…", value_parser = fault::parse, help_heading = "Faults")]
    pub fault: Vec<Fault>,
    /// Decides which messages are befallen [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Faults")]
    pub fault_seed: Option<u64>,

    /// hybrid: sleeps, then spins shortly before each event; spin: takes a whole CPU; unpaced: as fast as clients read
    #[arg(long, value_enum, default_value = "hybrid", help_heading = "Sending")]
    pub pacing: PacingKind,
    /// With hybrid: spin for this long before an event
    #[arg(long, value_parser = duration_ns, default_value = "200us", help_heading = "Sending")]
    pub spin_lead: u64,
    /// Keep the sender on this CPU
    #[arg(long, help_heading = "Sending")]
    pub cpu: Option<usize>,
    /// One subscriber at a time, in random order, for this long
    #[arg(long, value_parser = duration_ns, help_heading = "Sending")]
    pub slice: Option<u64>,
    /// Send buffer of each socket [default: the kernel's choice]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Sending")]
    pub send_buffer: Option<usize>,
    /// What may wait for a client beyond that before it is too slow
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "1MiB", help_heading = "Sending")]
    pub queue: usize,
    /// Accept a client's offer of permessage-deflate: as it asks, or `shared`, without context, so that one frame serves all
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "as-offered",
        help_heading = "Sending"
    )]
    pub deflate: Option<DeflateKind>,

    /// Run COMMAND where the exchanges' real host names lead here and nothing else can be reached
    #[arg(long, requires = "command", help_heading = "Namespace")]
    pub namespace: bool,
    /// A file of trusted certificates that COMMAND has compiled in or bundled; repeatable
    #[arg(
        long,
        value_name = "FILE",
        requires = "namespace",
        help_heading = "Namespace"
    )]
    pub trust_file: Vec<PathBuf>,
    /// What to run, with its arguments; its exit status becomes ours
    #[arg(last = true, requires = "namespace", help_heading = "Namespace")]
    pub command: Vec<OsString>,
}

/// Arrival processes by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArrivalKind {
    /// Evenly spaced
    Constant,
    /// Independent of each other
    Poisson,
    /// Self-exciting: bursts
    Hawkes,
}

/// Ways to wait, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PacingKind {
    /// Sleeps, then spins
    Hybrid,
    /// Never sleeps
    Spin,
    /// Never waits
    Unpaced,
}

/// What is wanted of permessage-deflate, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeflateKind {
    /// What the client asks for; most keep the window, which takes about 270 KB for each connection
    AsOffered,
    /// The window is forgotten after each message: a message is compressed once for all
    Shared,
}

impl DeflateKind {
    /// What is asked of clients.
    pub fn agreement(self) -> Agreement {
        Agreement {
            server_no_context_takeover: self == Self::Shared,
            ..Agreement::default()
        }
    }
}

impl Cli {
    /// What each port serves, in their order: the personalities, then the recording.
    pub fn places(&self) -> Vec<Place> {
        let names = self.personalities();
        let replay = self.replay.is_some().then(|| Place::replay(&names));
        names.into_iter().map(Place::from).chain(replay).collect()
    }

    /// Whose FIX is spoken, in the order of their ports, which follow all others.
    pub fn dialects(&self) -> Vec<Dialect> {
        if self.fix_acceptance {
            return vec![Dialect::Acceptance];
        }
        let names = self.personalities();
        let own = names.iter().filter_map(|name| name.dialect());
        let all = own.chain((!names.is_empty()).then_some(Dialect::Standard));
        all.filter(|_| self.fix).collect()
    }

    /// Each personality once, in the order given; none beside a recording unless they are asked for.
    pub fn personalities(&self) -> Vec<Name> {
        if self.fix_acceptance {
            return Vec::new();
        }
        if self.personality.is_empty() && self.replay.is_none() {
            return Name::ALL.to_vec();
        }
        let mut names: Vec<Name> = Vec::new();
        for &name in &self.personality {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn personalities_come_once_and_in_order() {
        let line = "x --personality kraken,binance --personality kraken";
        let cli = Cli::try_parse_from(line.split(' ')).unwrap();
        assert_eq!(cli.personalities(), [Name::Kraken, Name::Binance]);
        assert_eq!(
            Cli::try_parse_from(["x"]).unwrap().personalities(),
            Name::ALL
        );
    }

    #[test]
    fn a_command_needs_its_namespace_and_the_other_way_round() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' '));
        assert!(parse("x --namespace").is_err() && parse("x -- ls").is_err());
        let cli = parse("x --namespace -- ls -l --json").unwrap();
        assert_eq!(cli.command, ["ls", "-l", "--json"]);
        assert!(!cli.json);
    }
}
