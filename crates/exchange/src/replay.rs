//! Recordings, when each of their messages is due (at their own pace, faster, slower, or at once, and in loops), and
//! an exchange that sends them.

mod depth;
mod message;
mod player;
mod recording;
mod schedule;

pub use player::{Replay, ReplayError};
pub use recording::{Direction, Entry, Recording, RecordingError};
pub use schedule::{Due, Pace, Schedule};
