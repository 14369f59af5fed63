//! IP and TCP headers, as far as needed to follow one direction of a connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PROTOCOL_TCP: u8 = 6;
const FLAG_FIN: u8 = 0x01;
const FLAG_SYN: u8 = 0x02;
const FLAG_RST: u8 = 0x04;

/// One TCP segment with its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Where it goes.
    pub destination: (IpAddr, u16),
    /// Port that it comes from.
    pub source_port: u16,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// It opens the connection.
    pub opens: bool,
    /// It is the last in this direction, by FIN or RST.
    pub ends: bool,
    /// What it carries.
    pub payload: &'a [u8],
}

/// Reads a packet that begins with its IP header. `None` for whatever is no whole TCP segment: other protocols, IP
/// fragments, IPv6 with extension headers (loopback sends none), and what was cut.
#[must_use]
pub fn parse(packet: &[u8]) -> Option<Segment<'_>> {
    let (destination, tcp) = match packet.first()? >> 4 {
        4 => ipv4(packet)?,
        6 => ipv6(packet)?,
        _ => return None,
    };
    let header_bytes = usize::from(tcp.get(12)? >> 4) * 4;
    if header_bytes < 20 || tcp.len() < header_bytes {
        return None;
    }
    let flags = tcp[13];
    Some(Segment {
        destination: (destination, u16::from_be_bytes([tcp[2], tcp[3]])),
        source_port: u16::from_be_bytes([tcp[0], tcp[1]]),
        sequence: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
        opens: flags & FLAG_SYN != 0,
        ends: flags & (FLAG_FIN | FLAG_RST) != 0,
        payload: &tcp[header_bytes..],
    })
}

fn ipv4(packet: &[u8]) -> Option<(IpAddr, &[u8])> {
    let header_bytes = usize::from(packet[0] & 0xF) * 4;
    let total_bytes = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let is_fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3FFF != 0;
    if header_bytes < 20 || is_fragment || *packet.get(9)? != PROTOCOL_TCP {
        return None;
    }
    // 0 stands for a length beyond 64 KiB (big TCP): then the packet ends where what was captured ends.
    let end = if total_bytes == 0 {
        packet.len()
    } else {
        total_bytes
    };
    let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    Some((
        IpAddr::V4(Ipv4Addr::from(address)),
        packet.get(header_bytes..end)?,
    ))
}

fn ipv6(packet: &[u8]) -> Option<(IpAddr, &[u8])> {
    const HEADER_BYTES: usize = 40;
    let payload_bytes = usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
    if *packet.get(6)? != PROTOCOL_TCP {
        return None;
    }
    let end = if payload_bytes == 0 {
        packet.len()
    } else {
        HEADER_BYTES + payload_bytes
    };
    let address: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
    Some((
        IpAddr::V6(Ipv6Addr::from(address)),
        packet.get(HEADER_BYTES..end)?,
    ))
}
