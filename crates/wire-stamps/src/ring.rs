//! Packets of the loopback device with the kernel's time stamps, by a ring of memory that the kernel fills
//! (`AF_PACKET`, `TPACKET_V3`). It wants CAP_NET_RAW.

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicU32, Ordering};
use std::time::Duration;

const BLOCK_BYTES: usize = 1 << 20;
const BLOCKS: usize = 64;
/// A block that is not full is handed over after so long.
const RETIRE_MS: u32 = 20;
const PACKET_IGNORE_OUTGOING: c_int = 23;

/// What the kernel counted since the ring was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// That passed the filter.
    pub packets: u64,
    /// For which there was no room.
    pub dropped: u64,
}

/// A packet as it lies in the ring, beginning with its IP header.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Its bytes; fewer than it had when it did not fit.
    pub bytes: &'a [u8],
    /// What it had.
    pub whole_bytes: usize,
    /// CLOCK_REALTIME.
    pub stamp_ns: i64,
}

/// An open ring.
#[derive(Debug)]
pub struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    next: usize,
    counts: Counts,
}

impl Ring {
    /// Captures what the loopback device delivers from this TCP port.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_NET_RAW; whatever else the kernel says.
    pub fn open(source_port: u16) -> io::Result<Self> {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // Protocol 0 first: nothing comes before the filter is set.
        // SAFETY: no pointers are passed.
        let descriptor = check(unsafe {
            libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: it was just opened and nobody else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        set(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V3 as c_int),
        )?;
        // On loopback each packet would otherwise be seen twice: leaving, and arriving.
        set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32)?;
        let mut program = filter(source_port);
        let attached = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &attached)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request())?;
        let memory = map(&socket)?;
        let ring = Self {
            socket,
            memory,
            next: 0,
            counts: Counts::default(),
        };
        ring.bind(protocol)?;
        Ok(ring)
    }

    fn bind(&self, protocol: u16) -> io::Result<()> {
        // SAFETY: the name ends with a zero.
        let index = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
        // SAFETY: all zeros is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index as c_int;
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: a sockaddr_ll of our own, with its length.
        check(unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) })?;
        Ok(())
    }

    /// Calls `take` with the packets of the next block, if it is filled within the time; false if it was not.
    ///
    /// # Errors
    /// When waiting fails, or `take` does.
    pub fn next_block<E: From<io::Error>>(
        &mut self,
        within: Duration,
        mut take: impl FnMut(Packet<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        // SAFETY: `next` is below BLOCKS, so the block lies in the mapping, aligned to its own size.
        let block = unsafe { self.memory.add(self.next * BLOCK_BYTES) };
        let head = block.cast::<libc::tpacket_block_desc>();
        // SAFETY: a block begins with this struct; the kernel writes its status, so it is read as an atomic.
        let status = unsafe { AtomicU32::from_ptr(&raw mut (*head.as_ptr()).hdr.bh1.block_status) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            self.wait(within)?;
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return Ok(false);
            }
        }
        // SAFETY: the block is ours until its status is given back, and this was checked.
        let (packets, mut at) = unsafe {
            let about = &(*head.as_ptr()).hdr.bh1;
            (about.num_pkts, about.offset_to_first_pkt as usize)
        };
        let mut outcome = Ok(());
        for _ in 0..packets {
            // SAFETY: the kernel has written so many packets, each `tp_next_offset` behind the one before.
            let (packet, next) = unsafe { packet_at(block, at) };
            outcome = take(packet);
            if outcome.is_err() {
                break;
            }
            at += next;
        }
        fence(Ordering::Release);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % BLOCKS;
        outcome.map(|()| true)
    }

    fn wait(&self, within: Duration) -> io::Result<()> {
        let mut waited = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one pollfd of our own.
        let result = unsafe { libc::poll(&raw mut waited, 1, within.as_millis() as c_int) };
        match check(result) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// What the kernel has counted so far.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn counts(&mut self) -> io::Result<Counts> {
        // SAFETY: all zeros is a valid tpacket_stats_v3.
        let mut since: libc::tpacket_stats_v3 = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&since) as libc::socklen_t;
        let descriptor = self.socket.as_raw_fd();
        // SAFETY: a struct of our own, with its length.
        check(unsafe {
            libc::getsockopt(
                descriptor,
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut since).cast(),
                &raw mut length,
            )
        })?;
        // Reading resets them.
        self.counts.packets += u64::from(since.tp_packets);
        self.counts.dropped += u64::from(since.tp_drops);
        Ok(self.counts)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and nobody has a reference into it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), BLOCKS * BLOCK_BYTES) };
    }
}

/// # Safety
/// A packet that the kernel has handed over must begin `at` bytes behind the block's beginning.
unsafe fn packet_at<'a>(block: NonNull<u8>, at: usize) -> (Packet<'a>, usize) {
    // SAFETY: by the function's own contract.
    unsafe {
        let begin = block.add(at);
        let head = begin.cast::<libc::tpacket3_hdr>().as_ref();
        let bytes = std::slice::from_raw_parts(
            begin.add(usize::from(head.tp_net)).as_ptr(),
            head.tp_snaplen as usize,
        );
        let packet = Packet {
            bytes,
            whole_bytes: head.tp_len as usize,
            stamp_ns: i64::from(head.tp_sec) * 1_000_000_000 + i64::from(head.tp_nsec),
        };
        (packet, head.tp_next_offset as usize)
    }
}

fn request() -> libc::tpacket_req3 {
    libc::tpacket_req3 {
        tp_block_size: BLOCK_BYTES as u32,
        tp_block_nr: BLOCKS as u32,
        // Only their product counts for this version.
        tp_frame_size: BLOCK_BYTES as u32,
        tp_frame_nr: BLOCKS as u32,
        tp_retire_blk_tov: RETIRE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    }
}

fn map(socket: &OwnedFd) -> io::Result<NonNull<u8>> {
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            BLOCKS * BLOCK_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            socket.as_raw_fd(),
            0,
        )
    };
    match NonNull::new(memory.cast::<u8>()) {
        Some(memory) if memory.as_ptr().cast() != libc::MAP_FAILED => Ok(memory),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: a value of our own, with its length.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            length,
        )
    })?;
    Ok(())
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Classic BPF, on packets that begin with their IP header: TCP from that port, over IPv4 or IPv6, and no fragment.
fn filter(source_port: u16) -> Vec<libc::sock_filter> {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_HALF: u16 = 0x28;
    const LOAD_HALF_BEHIND: u16 = 0x48;
    const LOAD_HEADER_LENGTH: u16 = 0xB1;
    const AND: u16 = 0x54;
    const EQUAL: u16 = 0x15;
    const ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let port = u32::from(source_port);
    vec![
        step(LOAD_BYTE, 0, 0, 0),
        step(AND, 0, 0, 0xF0),
        step(EQUAL, 0, 7, 0x40), // else: is it IPv6?
        step(LOAD_BYTE, 0, 0, 9),
        step(EQUAL, 0, 10, 6), // else: no
        step(LOAD_HALF, 0, 0, 6),
        step(ANY_BIT, 8, 0, 0x1FFF), // a later fragment: no
        step(LOAD_HEADER_LENGTH, 0, 0, 0),
        step(LOAD_HALF_BEHIND, 0, 0, 0),
        step(EQUAL, 6, 5, port),
        step(EQUAL, 0, 4, 0x60),
        step(LOAD_BYTE, 0, 0, 6),
        step(EQUAL, 0, 2, 6),
        step(LOAD_HALF, 0, 0, 40),
        step(EQUAL, 1, 0, port),
        step(RETURN, 0, 0, 0),
        step(RETURN, 0, 0, u32::MAX),
    ]
}
