//! TUN devices: whole IP packets, read from and written to a descriptor.

use nix::errno::Errno;
use std::ffi::c_char;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Of an Ethernet path, so that TCP cuts its segments as it would on one.
pub const MTU_BYTES: usize = 1_500;

// linux/if_tun.h
const TUNSETIFF: u64 = nix::request_code_write!(b'T', 202, mem::size_of::<libc::c_int>());
const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000;

/// A device that this process answers for. It goes with the last descriptor.
pub struct Tun(File);

impl Tun {
    /// A device `name` in the calling thread's namespace, up, with `address` in a network of 256.
    pub fn open(name: &str, address: Ipv4Addr) -> io::Result<Self> {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")?;
        let mut request = request(name);
        request.ifr_ifru.ifru_flags = IFF_TUN | IFF_NO_PI;
        // SAFETY: the request is a whole ifreq that lives through the call.
        Errno::result(unsafe { libc::ioctl(device.as_raw_fd(), TUNSETIFF as _, &mut request) })?;
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        for (what, value) in [
            (libc::SIOCSIFADDR, address),
            (libc::SIOCSIFNETMASK, Ipv4Addr::new(255, 255, 255, 0)),
        ] {
            request.ifr_ifru.ifru_addr = socket_address(value);
            set(&socket, what, &request)?;
        }
        // Else the kernel sends packets of its own over the device. A kernel without IPv6 has no such file.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        request.ifr_ifru.ifru_mtu = MTU_BYTES as libc::c_int;
        set(&socket, libc::SIOCSIFMTU, &request)?;
        bring_up(name)?;
        Ok(Self(device))
    }

    /// The next packet that the kernel sends through the device; None when there is none now.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0.read(buffer) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a packet to the kernel as if it had come in by the device. A packet that the kernel has no use for, such
    /// as one for a device that is down, is lost as it would be on a wire.
    pub fn write(&mut self, packet: &[u8]) -> bool {
        self.0.write(packet).is_ok()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sets a device of the calling thread's namespace up.
pub fn bring_up(name: &str) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    set(&socket, libc::SIOCSIFFLAGS, &request)
}

fn request(name: &str) -> libc::ifreq {
    // SAFETY: an ifreq is plain numbers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    assert!(
        name.len() < request.ifr_name.len(),
        "{name} is too long for a device's name"
    );
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as c_char;
    }
    request
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let internet = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(address.octets()),
        },
        sin_zero: [0; 8],
    };
    // SAFETY: both are 16 bytes of plain numbers; the kernel tells them apart by the family.
    unsafe { mem::transmute(internet) }
}

fn set(socket: &UdpSocket, what: libc::c_ulong, request: &libc::ifreq) -> io::Result<()> {
    // SAFETY: the request is a whole ifreq that lives through the call, which only reads it.
    Errno::result(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, request) })?;
    Ok(())
}
