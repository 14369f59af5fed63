//! The few questions and wishes that the engine has for Linux.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks the CPU to bring a value into its cache; a hint that can neither fail nor change anything.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of::<T>().div_ceil(64) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let address = std::ptr::from_ref(value)
            .cast::<i8>()
            .wrapping_add(64 * line);
        // SAFETY: a prefetch reads nothing into the program and is allowed for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Turns the −1 of a system call into its error.
pub fn check(status: i32) -> io::Result<i32> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(status)
    }
}

/// Binds the calling thread to one CPU.
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("there is no CPU {cpu}"),
        ));
    }
    // SAFETY: an all-zero cpu_set_t is an empty set, and CPU_SET stays within it for a CPU below CPU_SETSIZE.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: the size and the pointer describe `set`; 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) }).map(drop)
}

/// Sets an integer socket option.
pub fn set_option(socket: RawFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let size = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and the size describe `value`.
    check(unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), size) })
        .map(drop)
}

/// The congestion control that every connection asks for: the default of Linux, named because a host may default to
/// another (bbr paces its packets), and results from two hosts should not differ by that.
pub const CONGESTION_CONTROL: &str = "cubic";

/// Asks for [`CONGESTION_CONTROL`]; a kernel without it keeps its default, which [`congestion_control`] then tells.
pub fn set_congestion_control(socket: RawFd) {
    let name = CONGESTION_CONTROL.as_bytes();
    let size = name.len() as libc::socklen_t;
    // SAFETY: the pointer and the size describe `name`. Refusal is harmless and reported by the reader below.
    unsafe {
        libc::setsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            size,
        )
    };
}

/// The congestion control in force on a socket.
pub fn congestion_control(socket: RawFd) -> Option<String> {
    let mut name = [0_u8; 16];
    let mut size = name.len() as libc::socklen_t;
    // SAFETY: the pointer and the size describe `name`; the kernel writes at most that much.
    let status = unsafe {
        libc::getsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &mut size,
        )
    };
    check(status).ok()?;
    let end = name
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(name.len());
    Some(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// True once TCP_NODELAY holds on a socket.
pub fn nodelay(socket: RawFd) -> bool {
    let mut value = 0_i32;
    let mut size = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and the size describe `value`.
    let status = unsafe {
        libc::getsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw mut value).cast(),
            &mut size,
        )
    };
    status == 0 && value != 0
}

/// The error that a non-blocking connect ended with, if any.
pub fn take_socket_error(socket: RawFd) -> io::Result<()> {
    let mut code = 0_i32;
    let mut size = size_of_val(&code) as libc::socklen_t;
    // SAFETY: the pointer and the size describe `code`.
    check(unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut code).cast(),
            &mut size,
        )
    })?;
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(code))
    }
}

/// CPU time of the calling thread in ns.
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What the scheduler did with the calling thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunDelay {
    /// Time that the thread was runnable and did not run, in ns.
    pub waited_ns: u64,
    /// Times that it was put on a CPU.
    pub runs: u64,
}

impl RunDelay {
    /// Reads `/proc/thread-self/schedstat` (about 15 µs); zeros where the kernel keeps none.
    pub fn of_this_thread() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut fields = text
            .split_ascii_whitespace()
            .skip(1)
            .map(|field| field.parse().unwrap_or(0));
        Self {
            waited_ns: fields.next().unwrap_or(0),
            runs: fields.next().unwrap_or(0),
        }
    }
}

impl RunDelay {
    /// Stalls of a thread that sleeps between events, where no clock of its own shows them: 1 if the scheduler let it
    /// wait for more than 1 ms beyond what ordinary wake-ups take (50 µs each), else 0.
    pub fn stalls_since(self, before: Self) -> u64 {
        let waited_ns = self.waited_ns.saturating_sub(before.waited_ns);
        let wake_ups_ns = self.runs.saturating_sub(before.runs).saturating_mul(50_000);
        u64::from(waited_ns.saturating_sub(wake_ups_ns) > 1_000_000)
    }
}

/// Lets the process hold `wanted` sockets, up to the hard limit.
pub fn raise_file_limit(wanted: u64) -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for one rlimit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    if limit.rlim_max < wanted {
        let text = format!(
            "{wanted} files are needed, {} are allowed (see `ulimit -Hn`)",
            limit.rlim_max
        );
        return Err(io::Error::other(text));
    }
    limit.rlim_cur = wanted;
    // SAFETY: `limit` outlives the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }).map(drop)
}

/// How many descriptors this process holds; the one that the counting itself needs is not among them.
pub fn open_descriptors() -> io::Result<u64> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count() as u64 - 1)
}

/// Memory of this process that lies in RAM, in bytes; 0 where the kernel does not tell.
pub fn resident_bytes() -> u64 {
    // SAFETY: no pointers.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|field| field.parse::<u64>().ok());
    pages.unwrap_or(0) * page_bytes
}

/// Lets the kernel end this process when the one that started it ends, however that happens.
pub fn die_with_parent() {
    // SAFETY: no pointers; a refusal only means that the parent must end the child itself.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember_interrupt(_signal: i32) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Makes ^C and SIGTERM set a flag that the loop looks at. A second one ends the process as usual.
pub fn catch_interrupts() -> &'static AtomicBool {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic, which is safe at any time; the zeroed mask is empty.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = remember_interrupt as extern "C" fn(i32) as usize;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    &INTERRUPTED
}
