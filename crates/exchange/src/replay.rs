//! Recordings, and when each of their messages is due: at their own pace, faster, slower, or at once, and in loops.

mod recording;
mod schedule;

pub use recording::{Direction, Entry, Recording, RecordingError};
pub use schedule::{Due, Pace, Schedule};
