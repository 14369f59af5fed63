//! Who may log on: signatures over the Logon's first fields, as Binance documents them.

use std::collections::HashMap;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use ring::signature::{Ed25519KeyPair, UnparsedPublicKey, ED25519};

use super::message::Message;
use super::tag::{self, SOH};

/// Bytes of an Ed25519 public key.
pub const PUBLIC_KEY_BYTES: usize = 32;

/// Decides about a Logon.
pub trait Authenticator: std::fmt::Debug {
    /// Whether the sender is who it says.
    ///
    /// # Errors
    /// The words that the Logout carries.
    fn check(&self, logon: &Message<'_>) -> Result<(), AuthenticationError>;
}

/// Why a Logon is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticationError {
    /// The Logon lacks Username or RawData.
    #[error("Logon without Username (553) or RawData (96)")]
    Incomplete,
    /// Nobody has this API key.
    #[error("Unknown API key")]
    UnknownKey,
    /// RawData is not the signature of the Logon's fields.
    #[error("Signature for this request is not valid")]
    Signature,
}

/// Public keys by API key (Username, field 553).
#[derive(Debug, Clone, Default)]
pub struct Ed25519Keys {
    keys: HashMap<Vec<u8>, [u8; PUBLIC_KEY_BYTES]>,
}

impl Ed25519Keys {
    /// Lets the holder of the private key log on with this API key.
    pub fn insert(&mut self, api_key: &str, public_key: [u8; PUBLIC_KEY_BYTES]) {
        self.keys.insert(api_key.as_bytes().to_vec(), public_key);
    }
}

impl Authenticator for Ed25519Keys {
    fn check(&self, logon: &Message<'_>) -> Result<(), AuthenticationError> {
        let (Some(api_key), Some(raw_data)) = (logon.get(tag::USERNAME), logon.get(tag::RAW_DATA))
        else {
            return Err(AuthenticationError::Incomplete);
        };
        let key = self
            .keys
            .get(api_key)
            .ok_or(AuthenticationError::UnknownKey)?;
        let signature = STANDARD
            .decode(raw_data)
            .map_err(|_| AuthenticationError::Signature)?;
        let signed = [
            tag::MSG_TYPE,
            tag::SENDER_COMP_ID,
            tag::TARGET_COMP_ID,
            tag::MSG_SEQ_NUM,
            tag::SENDING_TIME,
        ]
        .map(|tag| logon.get(tag).unwrap_or_default())
        .join(&SOH);
        UnparsedPublicKey::new(&ED25519, key)
            .verify(&signed, &signature)
            .map_err(|_| AuthenticationError::Signature)
    }
}

/// A private key that signs Logons.
#[derive(Debug)]
pub struct LogonSigner {
    key: Ed25519KeyPair,
}

/// Bytes that are no private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an Ed25519 private key in PKCS#8 (the decoded middle of a PEM file)")]
pub struct PrivateKeyError;

impl LogonSigner {
    /// Reads a key in PKCS#8, with or without its public half.
    ///
    /// # Errors
    /// [`PrivateKeyError`] when the bytes are something else.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, PrivateKeyError> {
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(|_| PrivateKeyError)?;
        Ok(Self { key })
    }

    /// The half that the other side needs.
    #[must_use]
    pub fn public_key(&self) -> [u8; PUBLIC_KEY_BYTES] {
        use ring::signature::KeyPair;
        let mut bytes = [0; PUBLIC_KEY_BYTES];
        bytes.copy_from_slice(self.key.public_key().as_ref());
        bytes
    }

    /// RawData of a Logon with these fields.
    #[must_use]
    pub fn raw_data(
        &self,
        sender_comp_id: &str,
        target_comp_id: &str,
        msg_seq_num: u64,
        sending_time: &str,
    ) -> String {
        let number = msg_seq_num.to_string();
        let signed = ["A", sender_comp_id, target_comp_id, &number, sending_time].join("\x01");
        STANDARD.encode(self.key.sign(signed.as_bytes()))
    }
}
