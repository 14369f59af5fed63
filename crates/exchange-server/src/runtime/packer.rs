//! permessage-deflate (RFC 7692) of what leaves.
//!
//! A client whose agreement forgets the window after each message gets the same compressed frame as all others with
//! that window, made once. One whose window is kept needs a stream of its own, with about 270 KB of memory, and its
//! messages are compressed for it alone.

use feedbench_wire::deflate::{Agreement, Compressor};
use feedbench_wire::frame::{append, Header, Opcode};
use flate2::Compression;

/// Windows are 2^8 to 2^15 bytes.
const WINDOWS: usize = 16;

/// How the messages of one connection are compressed.
pub enum Packing {
    /// With all others of this window.
    Shared(u8),
    /// By itself.
    Own(Box<Compressor>),
}

impl Packing {
    /// As was agreed on.
    pub fn new(agreement: &Agreement) -> Self {
        let window_bits = agreement.server_window_bits();
        match agreement.server_no_context_takeover {
            true => Self::Shared(window_bits),
            false => Self::Own(Box::new(compressor(window_bits, false))),
        }
    }
}

fn compressor(window_bits: u8, forgets: bool) -> Compressor {
    Compressor::new(window_bits, forgets, Compression::default())
}

/// Compresses the messages of all connections. Allocates nothing once its buffers have grown.
#[derive(Default)]
pub struct Packer {
    /// By window.
    shared: [Option<Compressor>; WINDOWS],
    /// The current message as a frame, by window.
    frames: [Vec<u8>; WINDOWS],
    /// Whether those frames are of the current message.
    is_current: [bool; WINDOWS],
    payload: Vec<u8>,
    own: Vec<u8>,
}

impl Packer {
    /// What comes is another message.
    pub fn begin(&mut self) {
        self.is_current = [false; WINDOWS];
    }

    /// The frame of the current message for one connection; `None` if its stream is in disorder.
    pub fn frame(
        &mut self,
        packing: &mut Packing,
        opcode: Opcode,
        message: &[u8],
    ) -> Option<&[u8]> {
        let window_bits = match packing {
            Packing::Own(compressor) => {
                pack(
                    compressor,
                    opcode,
                    message,
                    &mut self.payload,
                    &mut self.own,
                )?;
                return Some(&self.own);
            }
            Packing::Shared(window_bits) => *window_bits,
        };
        let window = usize::from(window_bits);
        if !self.is_current[window] {
            let shared = self.shared[window].get_or_insert_with(|| compressor(window_bits, true));
            let frame = &mut self.frames[window];
            pack(shared, opcode, message, &mut self.payload, frame)?;
            self.is_current[window] = true;
        }
        Some(&self.frames[window])
    }
}

/// Writes a compressed frame over what is in `frame`.
fn pack(
    compressor: &mut Compressor,
    opcode: Opcode,
    message: &[u8],
    payload: &mut Vec<u8>,
    frame: &mut Vec<u8>,
) -> Option<()> {
    payload.clear();
    compressor.compress(message, payload).ok()?;
    frame.clear();
    let header = Header {
        compressed: true,
        ..Header::message(opcode, payload.len() as u64, None)
    };
    append(frame, header, payload);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use feedbench_wire::deflate::Decompressor;

    fn agreement(forgets: bool, window_bits: u8) -> Agreement {
        Agreement {
            server_no_context_takeover: forgets,
            server_max_window_bits: Some(window_bits),
            ..Agreement::default()
        }
    }

    fn opened(reader: &mut Decompressor, frame: &[u8]) -> Vec<u8> {
        let (header, start) = Header::parse(frame).unwrap().unwrap();
        assert!(header.compressed && header.fin);
        let mut message = Vec::new();
        reader
            .decompress(&frame[start..], true, &mut message)
            .unwrap();
        message
    }

    #[test]
    fn each_connection_can_read_its_frames_whatever_the_others_agreed_on() {
        let agreements = [
            (true, 15),
            (true, 15),
            (true, 9),
            (true, 8),
            (false, 15),
            (false, 10),
        ];
        let mut packer = Packer::default();
        let mut ends: Vec<(Packing, Decompressor)> = agreements
            .iter()
            .map(|&(forgets, window_bits)| {
                let packing = Packing::new(&agreement(forgets, window_bits));
                (packing, Decompressor::new(window_bits, forgets, 1_000))
            })
            .collect();
        let mut lengths = Vec::new();
        for number in 0..50 {
            let message = format!(r#"{{"e":"trade","s":"BTCUSDT","t":{number},"p":"61837.63"}}"#);
            packer.begin();
            lengths.clear();
            for (packing, reader) in &mut ends {
                let frame = packer
                    .frame(packing, Opcode::Text, message.as_bytes())
                    .unwrap();
                lengths.push(frame.len());
                assert_eq!(opened(reader, frame), message.as_bytes());
            }
        }
        assert_eq!(lengths[0], lengths[1]);
        assert!(
            lengths[4] < lengths[0],
            "a window that is kept is worth something"
        );
    }

    #[test]
    fn a_shared_frame_is_made_once_for_each_message() {
        let mut packer = Packer::default();
        let mut packing = Packing::new(&agreement(true, 15));
        let mut packed = |packer: &mut Packer, message: &[u8]| {
            packer
                .frame(&mut packing, Opcode::Text, message)
                .unwrap()
                .to_vec()
        };
        let first = packed(&mut packer, b"one");
        // Without a beginning the message is taken to be the same.
        assert_eq!(packed(&mut packer, b"two"), first);
        packer.begin();
        assert_ne!(packed(&mut packer, b"two"), first);
    }
}
