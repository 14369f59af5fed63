//! Stores: what was kept is there after a restart, and a file cut short anywhere can be read.

use feedbench_wire::fix::store::{FileStore, MemoryStore, Store, StoreError};

/// Longer than several records without a message, which may be written over part of it.
const THIRD: &[u8] = &[0; 100];

fn fill(store: &mut dyn Store) {
    store.append(None).unwrap();
    store.set_next_incoming(2).unwrap();
    store.append(Some(b"second")).unwrap();
    store.append(Some(THIRD)).unwrap();
    store.set_next_incoming(7).unwrap();
}

fn check_filled(store: &mut dyn Store) {
    let mut message = b"before".to_vec();
    assert_eq!((store.next_outgoing(), store.next_incoming()), (4, 7));
    assert!(!store.load(1, &mut message).unwrap());
    assert!(store.load(2, &mut message).unwrap());
    assert_eq!(message, b"second");
    assert!(store.load(3, &mut message).unwrap());
    assert_eq!(message, THIRD);
    assert!(!store.load(4, &mut message).unwrap());
}

#[test]
fn stores_give_back_what_they_were_given() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    let mut memory = MemoryStore::new(10);
    let mut file = FileStore::open(&path).unwrap();
    for store in [&mut memory as &mut dyn Store, &mut file] {
        assert_eq!((store.next_outgoing(), store.next_incoming()), (1, 1));
        fill(store);
        check_filled(store);
    }
    drop(file);
    check_filled(&mut FileStore::open(&path).unwrap());
}

#[test]
fn a_reset_forgets_and_an_outgoing_number_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    let mut memory = MemoryStore::new(10);
    let mut file = FileStore::open(&path).unwrap();
    let check = |store: &mut dyn Store| {
        let mut message = Vec::new();
        assert_eq!((store.next_outgoing(), store.next_incoming()), (9, 1));
        assert!(!store.load(2, &mut message).unwrap());
    };
    for store in [&mut memory as &mut dyn Store, &mut file] {
        fill(store);
        store.reset().unwrap();
        assert_eq!((store.next_outgoing(), store.next_incoming()), (1, 1));
        store.set_next_outgoing(9).unwrap();
        check(store);
    }
    drop(file);
    check(&mut FileStore::open(&path).unwrap());
}

#[test]
fn a_memory_store_keeps_the_last_messages() {
    let mut store = MemoryStore::new(2);
    let mut message = Vec::new();
    for text in [b"one", b"two", b"six"] {
        store.append(Some(text)).unwrap();
    }
    assert!(!store.load(1, &mut message).unwrap());
    assert!(store.load(2, &mut message).unwrap());
    assert!(store.load(3, &mut message).unwrap());
    assert_eq!(message, b"six");
}

#[test]
fn a_file_cut_short_at_any_byte_is_read_up_to_there_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    fill(&mut FileStore::open(&path).unwrap());
    let whole = std::fs::read(&path).unwrap();
    let mut last = (1, 1);
    for end in 0..=whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let mut store = FileStore::open(&path).unwrap();
        let numbers = (store.next_outgoing(), store.next_incoming());
        assert!(numbers.0 >= last.0 && numbers.1 >= last.1, "cut at {end}");
        last = numbers;
        // Shorter than what may be left of the record that was cut.
        store.set_next_incoming(numbers.1).unwrap();
        drop(store);
        let mut store = FileStore::open(&path).unwrap();
        store.append(Some(b"after the cut")).unwrap();
        drop(store);
        let mut again = FileStore::open(&path).unwrap();
        let mut message = Vec::new();
        assert_eq!(again.next_outgoing(), numbers.0 + 1, "cut at {end}");
        assert!(again.load(numbers.0, &mut message).unwrap());
        assert_eq!(message, b"after the cut");
    }
    assert_eq!(last, (4, 7));
}

#[test]
fn a_changed_byte_is_noticed_and_another_file_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    fill(&mut FileStore::open(&path).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(6).position(|part| part == b"second").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(
        FileStore::open(&path),
        Err(StoreError::Damaged { .. })
    ));

    std::fs::write(&path, b"somebody's notes").unwrap();
    assert!(matches!(FileStore::open(&path), Err(StoreError::Foreign)));
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody's notes");
}

#[test]
fn a_lower_outgoing_number_forgets_the_messages_from_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session");
    let mut memory = MemoryStore::new(10);
    let mut file = FileStore::open(&path).unwrap();
    let check = |store: &mut dyn Store| {
        let mut message = Vec::new();
        assert_eq!(store.next_outgoing(), 3);
        assert!(store.load(2, &mut message).unwrap());
        assert!(!store.load(3, &mut message).unwrap());
    };
    for store in [&mut memory as &mut dyn Store, &mut file] {
        fill(store);
        store.set_next_outgoing(3).unwrap();
        check(store);
    }
    drop(file);
    check(&mut FileStore::open(&path).unwrap());
}
