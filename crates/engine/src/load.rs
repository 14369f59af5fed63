//! `feedbench-engine load`: from a request to results.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::num::NonZeroU32;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use feedbench_pace::Pacer;
use feedbench_record::{write_interval_log, Quantity, SampleHeader, SampleWriter};

use crate::ceiling::{self, Shape};
use crate::cli::LoadArguments;
use crate::clock::MonotonicClock;
use crate::endpoint::Endpoint;
use crate::judgement::{judge, unreachable, Judgement};
use crate::payload::Payload;
use crate::request::{Request, TargetRequest};
use crate::result::{CeilingShare, LoadResult, LoadResults, SCHEMA};
use crate::shard::{self, Prepared, ShardOutcome, Shared};
use crate::slices::{turns, TurnClock};
use crate::transport::{BusyPoll, Epoll, TransportKind};
use crate::{summary, system};

/// Exit status after ^C or SIGTERM, as shells have it.
const INTERRUPTED_STATUS: u8 = 130;
/// How long `--ceiling` measures.
const CEILING_NS: u64 = 1_000_000_000;
/// Files that a process holds besides its connections.
const OTHER_FILES: u64 = 64;

/// Runs the sub-command.
pub fn run(arguments: &LoadArguments) -> Result<ExitCode> {
    let request = match &arguments.request {
        Some(path) => Request::read_json(path)?,
        None => arguments.to_request()?,
    };
    request.check()?;
    let interrupt = system::catch_interrupts();
    let started = SystemTime::now();
    let prepared: Vec<_> = request
        .targets
        .iter()
        .map(|target| prepare(target, &request))
        .collect();
    let (ready, refused): (Vec<_>, Vec<_>) = prepared
        .into_iter()
        .enumerate()
        .partition(|(_, outcome)| outcome.is_ok());
    let (places, ready): (Vec<_>, Vec<_>) = ready
        .into_iter()
        .filter_map(|(at, target)| Some((at, target.ok()?)))
        .unzip();
    let mut results: Vec<(usize, LoadResult)> = refused
        .into_iter()
        .filter_map(|(at, outcome)| {
            Some((
                at,
                unreachable(&request, &request.targets[at], &outcome.err()?),
            ))
        })
        .collect();

    let live = !arguments.json && !arguments.quiet;
    let outcomes = load_all(&request, &ready, interrupt, live)?;
    let interrupted = interrupt.load(Ordering::Relaxed);
    for ((place, mut target), outcomes) in places.into_iter().zip(ready).zip(outcomes) {
        let samples_error = finish_samples(&mut target);
        let judged = judge(&request, &target, outcomes, interrupted, samples_error);
        results.extend(
            judged.map(|judgement| (place, keep_histograms(judgement, &target.request, started))),
        );
    }
    results.sort_by_key(|(place, _)| *place);
    let mut results: Vec<_> = results.into_iter().map(|(_, result)| result).collect();
    if arguments.ceiling && !interrupted {
        results
            .iter_mut()
            .try_for_each(|result| add_ceiling(result, arguments.ceiling_cpu))?;
    }
    let written = write_results(&request, &results);
    show(arguments, &results)?;
    written?;
    Ok(status(&results, interrupted))
}

/// Measures the raw loop's round trips for the shape of a closed loop.
fn add_ceiling(result: &mut LoadResult, server_cpu: Option<usize>) -> Result<()> {
    let (Pacer::Closed { in_flight }, Some(bytes)) = (result.pacer, result.payload.bytes) else {
        return Ok(());
    };
    let Some(bytes) = u32::try_from(bytes).ok().and_then(NonZeroU32::new) else {
        return Ok(());
    };
    let Some(connections) = NonZeroU32::new(result.connections).filter(|_| result.received > 0)
    else {
        return Ok(());
    };
    let shape = Shape {
        connections,
        in_flight,
        bytes,
    };
    let round_trips_per_s = ceiling::round_trips_per_s(shape, server_cpu, CEILING_NS)
        .context("cannot measure the ceiling")?;
    result.ceiling = Some(CeilingShare {
        round_trips_per_s,
        share: result.round_trips_per_s / round_trips_per_s.max(1.0),
    });
    Ok(())
}

/// Everything that can fail before the first connection, in the words of the result.
fn prepare(target: &TargetRequest, request: &Request) -> Result<Prepared, String> {
    let endpoint =
        Endpoint::new(&target.url, target.ca_file.as_deref()).map_err(|error| error.to_string())?;
    let payload = Payload::new(&target.payload).map_err(|error| error.to_string())?;
    if let Some(directory) = &target.directory {
        std::fs::create_dir_all(directory)
            .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    }
    let samples = match target.samples_path() {
        None => None,
        Some(path) => {
            let header = SampleHeader::new(&target.name, request.drop_first);
            let writer = SampleWriter::create(&path, &header);
            Some(Mutex::new(writer.map_err(|error| {
                format!("cannot write samples to {error}")
            })?))
        }
    };
    Ok(Prepared {
        request: target.clone(),
        endpoint: Arc::new(endpoint),
        payload,
        samples,
    })
}

/// Loads all targets on all threads; for each target what each thread recorded.
fn load_all(
    request: &Request,
    targets: &[Prepared],
    interrupt: &AtomicBool,
    live: bool,
) -> Result<Vec<Vec<ShardOutcome>>> {
    let threads = request.threads.get();
    let connections: u64 = targets
        .iter()
        .map(|target| u64::from(target.request.connections.get()))
        .sum();
    system::raise_file_limit(connections + OTHER_FILES)
        .context("too many connections for this process")?;
    let turns = turns(&request.timing(), targets.len());
    let answered: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    let barrier = Barrier::new(threads as usize);
    let shared = Shared {
        targets,
        turns: &turns,
        start: request.start_at_ns.map(|at_ns| TurnClock {
            at_ns,
            gap_ns: request.turn_gap_ns,
        }),
        threads,
        // Far above the bits by which threads differ.
        seed: request.seed ^ u64::from(request.agent) << 48,
        cpu: request.cpu,
        interrupt,
        answered: &answered,
        barrier: &barrier,
    };
    let outcomes: Vec<std::io::Result<Vec<ShardOutcome>>> = std::thread::scope(|scope| {
        let shared = &shared;
        let workers: Vec<_> = (0..threads)
            .map(|index| scope.spawn(move || run_shard(shared, index, request.transport)))
            .collect();
        if live {
            show_progress(&answered, || {
                workers
                    .iter()
                    .all(std::thread::ScopedJoinHandle::is_finished)
            });
        }
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    });
    let mut by_target: Vec<Vec<ShardOutcome>> = targets.iter().map(|_| Vec::new()).collect();
    for outcome in outcomes {
        for (all, one) in by_target.iter_mut().zip(outcome?) {
            all.push(one);
        }
    }
    Ok(by_target)
}

fn run_shard(
    shared: &Shared<'_>,
    index: u32,
    transport: TransportKind,
) -> std::io::Result<Vec<ShardOutcome>> {
    match transport {
        TransportKind::Epoll => shard::run(shared, index, &MonotonicClock, &Epoll::new),
        TransportKind::BusyPoll => shard::run(shared, index, &MonotonicClock, &BusyPoll::new),
        #[cfg(feature = "io-uring")]
        TransportKind::IoUring => shard::run(
            shared,
            index,
            &MonotonicClock,
            &crate::transport::Uring::new,
        ),
        #[cfg(not(feature = "io-uring"))]
        TransportKind::IoUring => Err(std::io::Error::new(
            std::io::ErrorKind::Unsupported,
            "this feedbench-engine was built without the feature io-uring: use epoll or busy-poll",
        )),
    }
}

/// A line per second on standard error until the threads are done.
fn show_progress(answered: &[AtomicU64], done: impl Fn() -> bool) {
    let look = Duration::from_millis(50);
    let (mut before, mut second, mut waited) = (0, 0, Duration::ZERO);
    while !done() {
        std::thread::sleep(look);
        waited += look;
        if waited >= Duration::from_secs(1) {
            waited = Duration::ZERO;
            second += 1;
            let now: u64 = answered
                .iter()
                .map(|count| count.load(Ordering::Relaxed))
                .sum();
            let rate = now.saturating_sub(before);
            // Progress is a courtesy: a closed standard error must not end the run.
            let _ = writeln!(std::io::stderr(), "{second:>4} s  {rate:>10} round trips/s");
            before = now;
        }
    }
}

/// Ends the sample file; the error, if it is not whole.
fn finish_samples(target: &mut Prepared) -> Option<String> {
    let path = target.request.samples_path()?;
    let writer = target
        .samples
        .take()?
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let error = writer.finish().err()?;
    Some(format!(
        "cannot write samples to {}: {error}",
        path.display()
    ))
}

/// Writes the histogram log; a failure is part of the result.
fn keep_histograms(
    judgement: Judgement,
    target: &TargetRequest,
    started: SystemTime,
) -> LoadResult {
    let Judgement {
        mut result,
        recorder,
    } = judgement;
    let Some(path) = target.hlog_path() else {
        return result;
    };
    let histograms = [
        (Quantity::Latency, &recorder.latency),
        (Quantity::LatencyFromSend, &recorder.latency_from_send),
        (Quantity::Lateness, &recorder.lateness),
    ];
    let write = || -> Result<()> {
        let mut file = std::io::BufWriter::new(File::create(&path)?);
        write_interval_log(
            &mut file,
            started,
            Duration::from_nanos(result.measured_ns),
            &histograms,
        )?;
        file.flush()?;
        Ok(())
    };
    if let Err(error) = write() {
        result.fail(
            "hlog",
            &format!("cannot write the histogram log {}: {error}", path.display()),
        );
    }
    result
}

/// Writes `load.json` into the directories of the request.
fn write_results(request: &Request, results: &[LoadResult]) -> Result<()> {
    for (target, result) in request.targets.iter().zip(results) {
        if let Some(directory) = &target.directory {
            write_json(&directory.join("load.json"), result)?;
        }
    }
    Ok(())
}

/// Under another name first: whoever waits for the file finds it whole.
fn write_json(path: &Path, result: &LoadResult) -> Result<()> {
    let unfinished = path.with_extension("json.part");
    let text = serde_json::to_string_pretty(result)? + "\n";
    std::fs::write(&unfinished, text)
        .and_then(|()| std::fs::rename(&unfinished, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Data on standard output, talk on standard error.
fn show(arguments: &LoadArguments, results: &[LoadResult]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match results {
        [result] if arguments.json => writeln!(out, "{}", serde_json::to_string_pretty(result)?)?,
        results if arguments.json => {
            writeln!(
                out,
                "{}",
                serde_json::to_string_pretty(&LoadResults {
                    schema: SCHEMA,
                    results
                })?
            )?;
        }
        results => {
            let bold = out.is_terminal();
            results
                .iter()
                .filter(|result| result.sent_total > 0)
                .try_for_each(|result| write!(out, "{}", summary::text(result, bold)))?;
        }
    }
    let mut talk = std::io::stderr().lock();
    for result in results {
        if let Some(cause) = &result.cause {
            writeln!(talk, "{}: {cause}", result.name)?;
        }
    }
    Ok(())
}

/// 0 when every target was tried, 1 when none could be, 130 after an interrupt.
fn status(results: &[LoadResult], interrupted: bool) -> ExitCode {
    if interrupted {
        return ExitCode::from(INTERRUPTED_STATUS);
    }
    let tried = results.iter().any(|result| result.sent_total > 0);
    if tried {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
