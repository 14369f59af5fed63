//! `feedbench-engine spin`: keeps a CPU from falling asleep, at the lowest priority there is.
//!
//! An idle virtual CPU is taken off its core, and the next message pays for its wake-up: on the same machine, letting
//! the CPUs sleep reversed the order of two servers (METHODOLOGY, "Sleeping CPUs"). `idle=poll` would cure it too,
//! but is a boot option; a spinner is a process that comes and goes with the run.
//!
//! It runs under `SCHED_IDLE`, so anything that wakes up takes the CPU from it at once, and it has 3 shares where an
//! ordinary process has 1024. That holds inside one autogroup only: Linux weighs sessions against each other before
//! it looks into them, so start a spinner in the session of the processes that it has to give way to. One that was given a session of
//! its own lowers that as far as the kernel lets it.

use std::os::unix::process::parent_id;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{bail, Context, Result};

use crate::system;

/// The arguments of `spin`.
#[derive(Debug, clap::Args)]
pub struct SpinArguments {
    /// The CPU to keep awake
    #[arg(long)]
    cpu: usize,
}

/// Spins until SIGTERM, ^C or the death of the process that started it.
///
/// # Errors
/// If the CPU does not exist or is not allowed, or the kernel refuses the idle priority: a spinner that competes would
/// be worse than none.
pub fn run(arguments: &SpinArguments) -> Result<ExitCode> {
    let stop = system::catch_interrupts();
    end_with_parent()?;
    let cpu = arguments.cpu;
    system::pin_thread(cpu)
        .with_context(|| format!("cannot run on CPU {cpu}; see `nproc` and `taskset -p $$`"))?;
    yield_to_everyone()?;
    spin(stop);
    Ok(ExitCode::SUCCESS)
}

/// Nothing must be left spinning when a run dies without cleaning up. Linux counts the *thread* that started this
/// process as the parent here, so a runner must not start spinners from a thread that ends before the run.
fn end_with_parent() -> Result<()> {
    let parent = parent_id();
    // SAFETY: this option takes a signal number and touches no memory of ours.
    system::check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) })
        .context("cannot tie the spinner to its parent")?;
    // The parent may have died before the call; the signal would then never come.
    if parent_id() != parent {
        bail!("the process that started this spinner is gone");
    }
    Ok(())
}

fn yield_to_everyone() -> Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a valid sched_param; 0 is the calling thread.
    system::check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) })
        .context("the kernel refuses SCHED_IDLE")?;
    // SAFETY: both calls only ask for numbers.
    let leads_a_session = unsafe { libc::getsid(0) == libc::getpid() };
    if leads_a_session {
        // Kernels without autogroups lack the file, and need nothing.
        let _ = std::fs::write("/proc/self/autogroup", "19");
    }
    Ok(())
}

/// Without the `pause` instruction that usually belongs into a spin loop: a hypervisor takes a run of them for a lock
/// that is waited for, and puts the virtual CPU to sleep, which is what this process is there to prevent.
fn spin(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {}
}
