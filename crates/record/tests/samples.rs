//! Sample files: what is written is read, and what was cut short is kept.

use std::io::{self, Write};

use feedbench_record::{
    Ending, Sample, SampleError, SampleHeader, SampleReader, SampleWriter, RECORD_BYTES,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn header() -> SampleHeader {
    SampleHeader::new("node-ws+connections=1", 0.1)
}

fn written(samples: &[Sample], capacity: usize) -> Vec<u8> {
    let mut writer = SampleWriter::new(Vec::new(), &header())
        .unwrap()
        .with_capacity(capacity);
    samples.iter().for_each(|&sample| writer.append(sample));
    let (records, bytes) = writer.finish().unwrap();
    assert_eq!(records, samples.len() as u64);
    bytes
}

fn read(bytes: &[u8]) -> Result<(Vec<Sample>, Ending), SampleError> {
    SampleReader::new(bytes)?.read_all()
}

fn sample(number: u64) -> Sample {
    Sample {
        intended_ns: number,
        sent_ns: number + 1,
        received_ns: number + 30_000,
        connection: 3,
        slice: 4,
    }
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let sample =
        (any::<[u64; 3]>(), any::<u32>(), any::<u32>()).prop_map(|(times, connection, slice)| {
            Sample {
                intended_ns: times[0],
                sent_ns: times[1],
                received_ns: times[2],
                connection,
                slice,
            }
        });
    vec(sample, 0..50)
}

#[test]
fn the_layout_is_that_of_the_contract() {
    let bytes = written(
        &[Sample {
            intended_ns: 1,
            sent_ns: 2,
            received_ns: 3,
            connection: 4,
            slice: 5,
        }],
        10,
    );
    assert_eq!(&bytes[..8], b"FBSAMPLE");
    assert_eq!(bytes[8..12], [1, 0, 0, 0]);
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    assert_eq!((16 + length) % 32, 0);
    let json: serde_json::Value = serde_json::from_slice(&bytes[16..16 + length]).unwrap();
    assert_eq!(json["clock"], "CLOCK_MONOTONIC");
    assert_eq!(json["name"], "node-ws+connections=1");
    assert_eq!(json["drop_first"], 0.1);
    assert_eq!(json["columns"].as_array().unwrap().len(), 5);

    let record = &bytes[16 + length..][..32];
    let wanted = [
        1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0,
        0, 0,
    ];
    assert_eq!(record, wanted);
    let footer = &bytes[16 + length + 32..];
    assert_eq!(footer.len(), 32);
    assert_eq!(&footer[..8], b"FBSMPEND");
    assert_eq!(footer[8..16], [1, 0, 0, 0, 0, 0, 0, 0]);
    let crc = u64::from(crc32fast::hash(record)).to_le_bytes();
    assert_eq!(footer[16..24], crc);
    assert_eq!(footer[24..32], [0; 8]);
}

#[test]
fn files_that_give_no_samples_say_why() {
    let whole = written(&[sample(1)], 10);
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    let rows = [
        ("an empty file", vec![], "ends within the first 16 bytes"),
        (
            "another file",
            b"\x7fELF............................".to_vec(),
            "no sample file",
        ),
        ("a later version", with(8, 2), "version 2"),
        (
            "a length that cannot be",
            with(12, 1),
            "cannot be its length",
        ),
        ("an enormous length", with(15, 255), "cannot be its length"),
        ("a header cut short", whole[..40].to_vec(), "ends within it"),
        (
            "a header that is no JSON",
            with(16, b'x'),
            "header is damaged",
        ),
    ];
    for (sentence, bytes, says) in rows {
        let said = read(&bytes).expect_err(sentence).to_string();
        assert!(said.contains(says), "{sentence}: {said}");
    }
}

#[test]
fn a_changed_byte_is_noticed_and_nothing_is_thrown_away() {
    let samples = [sample(1), sample(2)];
    let mut bytes = written(&samples, 10);
    let last_record = bytes.len() - 2 * RECORD_BYTES;
    bytes[last_record] ^= 1;
    let (read, ending) = read(&bytes).unwrap();
    assert_eq!(ending, Ending::Damaged);
    assert_eq!(read.len(), 2);
}

/// A disk with room for this many bytes, that takes at most ten at a time.
struct SmallDisk {
    content: Vec<u8>,
    room: usize,
}

impl Write for &mut SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(10).min(self.room);
        if taken == 0 {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                "No space left on device",
            ));
        }
        self.content.extend_from_slice(&bytes[..taken]);
        self.room -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_each_time_and_keeps_what_it_has() {
    let header_bytes = written(&[], 1).len() - RECORD_BYTES;
    let mut disk = SmallDisk {
        content: Vec::new(),
        room: header_bytes + 5 * RECORD_BYTES + 7,
    };
    let mut writer = SampleWriter::new(&mut disk, &header())
        .unwrap()
        .with_capacity(2);
    for number in 0..9 {
        writer.append(sample(number));
    }
    for _ in 0..2 {
        let error = writer.flush().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let said = error.to_string();
        assert!(
            said.contains("No space left on device: 5 of 9 samples were written"),
            "{said}"
        );
    }
    assert!(writer.finish().is_err());

    let (kept, ending) = read(&disk.content).unwrap();
    assert_eq!(ending, Ending::CutShort);
    assert_eq!(kept, (0..5).map(sample).collect::<Vec<_>>());
}

#[test]
fn a_disk_too_full_for_the_footer_leaves_an_incomplete_file() {
    let header_bytes = written(&[], 1).len() - RECORD_BYTES;
    let mut disk = SmallDisk {
        content: Vec::new(),
        room: header_bytes + RECORD_BYTES + 20,
    };
    let mut writer = SampleWriter::new(&mut disk, &header()).unwrap();
    writer.append(sample(1));
    assert!(writer.finish().is_err());
    assert_eq!(
        read(&disk.content).unwrap(),
        (vec![sample(1)], Ending::CutShort)
    );
}

#[test]
fn a_path_that_cannot_be_written_is_named() {
    let error = SampleWriter::create("/nowhere/samples.fbs".as_ref(), &header())
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("/nowhere/samples.fbs"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read(samples in samples(), capacity in 1usize..20) {
        let bytes = written(&samples, capacity);
        prop_assert_eq!(read(&bytes).unwrap(), (samples, Ending::Complete));
    }

    #[test]
    fn a_file_cut_anywhere_keeps_its_whole_records(samples in samples(), cut in any::<prop::sample::Index>()) {
        let bytes = written(&samples, 10);
        let records_bytes = samples.len() * RECORD_BYTES;
        let header_bytes = bytes.len() - records_bytes - RECORD_BYTES;
        let end = header_bytes + cut.index(records_bytes + RECORD_BYTES);
        let (kept, ending) = read(&bytes[..end]).unwrap();
        prop_assert_eq!(ending, Ending::CutShort);
        prop_assert_eq!(&kept[..], &samples[..(end - header_bytes) / RECORD_BYTES]);
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in vec(any::<u8>(), 0..200), graft in any::<bool>()) {
        let mut file = if graft { written(&[], 1) } else { Vec::new() };
        file.extend(bytes);
        let _ = read(&file);
    }
}
