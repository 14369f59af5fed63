//! A network path on one machine, for kernels without netem.
//!
//! Two network [`namespace`]s are joined by two [`tun`] devices, and the [`emulator`] carries packets between them:
//! each direction is a [`link`] that serves at a rate, delays with jitter and loses by chance. Both ends keep the
//! kernel's own TCP, so its congestion control meets the path as it would a real one. [`verify`] holds what a path
//! does against what was asked of it.

pub mod emulator;
pub mod link;
pub mod namespace;
pub mod tun;
pub mod verify;
