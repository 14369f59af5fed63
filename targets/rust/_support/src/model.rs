//! The two things that a server can be asked for: `/echo` and `/stamp`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What a connection is for, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Each message goes back with its opcode.
    Echo,
    /// A greeting, then `{"c":n}` is answered by `{"c":n,"ts":<unix seconds>}`.
    Stamp,
}

/// What to do with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send it back as it came.
    Same,
    /// Send this as a text message.
    Text(String),
    /// End the connection: the message is not what the model takes.
    End,
}

#[derive(Deserialize)]
struct Request {
    c: i64,
}

#[derive(Serialize)]
struct Stamp {
    c: i64,
    ts: u64,
}

fn stamp(c: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let ts = now.expect("the clock stands after 1970").as_secs();
    serde_json::to_string(&Stamp { c, ts }).expect("two numbers always serialize")
}

impl Model {
    /// The model that a path names; none for any other path, which is refused. A query is passed over.
    pub fn of_path(path: &str) -> Option<Self> {
        match path.split('?').next() {
            Some("/echo") => Some(Self::Echo),
            Some("/stamp") => Some(Self::Stamp),
            _ => None,
        }
    }

    /// What is sent to a client that has just connected.
    pub fn greeting(self) -> Option<String> {
        (self == Self::Stamp).then(|| stamp(0))
    }

    /// What a message deserves.
    #[inline]
    pub fn answer(self, payload: &[u8]) -> Answer {
        match self {
            Self::Echo => Answer::Same,
            Self::Stamp => match serde_json::from_slice::<Request>(payload) {
                Ok(request) => Answer::Text(stamp(request.c)),
                Err(_) => Answer::End,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_models() {
        assert_eq!(Model::of_path("/echo?a=1"), Some(Model::Echo));
        assert_eq!(Model::of_path("/stamp"), Some(Model::Stamp));
        assert_eq!(Model::of_path("/other"), None);
    }

    #[test]
    fn a_stamp_repeats_the_number_and_anything_else_ends_the_connection() {
        let Answer::Text(text) = Model::Stamp.answer(br#"{"c":12}"#) else {
            panic!("a stamp is a text")
        };
        assert!(text.starts_with(r#"{"c":12,"ts":1"#), "{text}");
        assert_eq!(Model::Stamp.answer(b"hello"), Answer::End);
        assert_eq!(Model::Echo.answer(b"hello"), Answer::Same);
    }
}
