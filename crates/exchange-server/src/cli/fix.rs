//! Who may log on over FIX.

use super::Cli;
use anyhow::{ensure, Context, Result};
use feedbench_exchange::personality::fix::FixConfig;
use feedbench_wire::fix::authentication::{Ed25519Keys, PUBLIC_KEY_BYTES};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::SubjectPublicKeyInfoDer;

/// DER of an Ed25519 public key up to the key itself (RFC 8410, section 4): the algorithm, then a string of 33 bytes.
const PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// An API key and the public key that its holder signs for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    api_key: String,
    public_key: [u8; PUBLIC_KEY_BYTES],
}

/// Reads `API_KEY=FILE`.
pub fn key(text: &str) -> Result<Key> {
    let (api_key, path) = text
        .split_once('=')
        .filter(|(api_key, _)| !api_key.is_empty())
        .context("write API_KEY=FILE, with the file of the public key")?;
    let der = SubjectPublicKeyInfoDer::from_pem_file(path)
        .map_err(|error| anyhow::anyhow!("no public key can be read from {path}: {error}"))?;
    let public_key = der
        .strip_prefix(&PREFIX)
        .and_then(|key| key.try_into().ok());
    ensure!(
        public_key.is_some(),
        "{path} holds no Ed25519 public key; `openssl pkey -in private.pem -pubout` prints one"
    );
    Ok(Key {
        api_key: api_key.to_owned(),
        public_key: public_key.unwrap_or_default(),
    })
}

/// What FIX doors are told.
pub fn config(cli: &Cli) -> Result<FixConfig> {
    if let Some(folder) = &cli.fix_store {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let mut known = Ed25519Keys::default();
    for key in &cli.fix_key {
        known.insert(&key.api_key, key.public_key);
    }
    Ok(FixConfig {
        stores: cli.fix_store.clone(),
        keys: (!cli.fix_key.is_empty()).then_some(known),
        maintenance_s: cli.fix_maintenance,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_or_what_is_wrong_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("public.pem");
        let text = "-----BEGIN PUBLIC KEY-----\n\
                    MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
                    -----END PUBLIC KEY-----\n";
        std::fs::write(&path, text).unwrap();
        let read = key(&format!("KEY={}", path.display())).unwrap();
        assert_eq!((read.api_key.as_str(), read.public_key[0]), ("KEY", 0xd7));
        std::fs::write(&path, "nothing").unwrap();
        for (text, words) in [
            (
                format!("KEY={}", path.display()),
                "no public key can be read",
            ),
            ("KEY=/nowhere.pem".to_owned(), "/nowhere.pem"),
            ("KEY".to_owned(), "API_KEY=FILE"),
        ] {
            assert!(
                key(&text).unwrap_err().to_string().contains(words),
                "{text}"
            );
        }
    }
}
