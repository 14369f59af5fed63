//! The command as users run it: processes, signals, output, real sockets.

mod arguments;
mod exchange;
mod fix;
mod namespace;
mod rig;
