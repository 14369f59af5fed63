//! FIX connections: handed over as they are, with nothing read.

use super::rig::{Got, Rig, PATIENCE};
use feedbench_exchange_server::seam::DoorId;
use std::io::{Read, Write};

#[test]
fn a_fix_connection_is_handed_over_unread() {
    let rig = Rig::with(|config| config.fix_doors = std::mem::take(&mut config.doors));
    let mut socket = rig.connect();
    socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let Got::Connected(door, mut established) = rig.got.recv_timeout(PATIENCE).unwrap() else {
        panic!("no HTTP is spoken here")
    };
    assert_eq!(door, DoorId(3));
    assert!(established.tls.is_none() && established.leftover.is_empty());
    established.socket.set_nonblocking(false).unwrap();
    let mut bytes = [0; 18];
    established.socket.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"GET / HTTP/1.1\r\n\r\n");
}

#[test]
fn a_client_that_says_nothing_is_not_waited_for() {
    let rig = Rig::with(|config| {
        config.fix_doors = std::mem::take(&mut config.doors);
        config.limits.first_request = std::time::Duration::from_millis(100);
    });
    let mut socket = rig.connect();
    assert_eq!(socket.read(&mut [0]).unwrap(), 0);
}
