//! Judges what earlier starts left behind. Whatever is wrong with a file, the answer is to make it anew.

use super::issue;
use rcgen::{Issuer, KeyPair, PublicKeyData};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use time::{Duration, OffsetDateTime};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::Pem;
use x509_parser::prelude::X509Certificate;

/// Less than this before its end, a certificate is made anew: no run should see it expire.
const RESERVE: Duration = Duration::days(7);

/// The authority, if it may go on.
pub fn authority(
    certificate: &Path,
    key: &Path,
    now: OffsetDateTime,
) -> Option<Issuer<'static, KeyPair>> {
    let key = read_key(key)?;
    let pem = read(certificate)?;
    let certificate = pem.parse_x509().ok()?;
    let good = certificate.is_ca() && is_of(&certificate, &key) && lasts(&certificate, now);
    good.then(|| issue::authority_of(key, now))
}

/// Whether a certificate may be used: of this authority, for these names, not near its end.
pub fn is_certificate(
    certificate: &Path,
    key: &Path,
    authority: &Path,
    names: &[String],
    now: OffsetDateTime,
) -> bool {
    let judge = || {
        let key = read_key(key)?;
        let (pem, authority) = (read(certificate)?, read(authority)?);
        let (certificate, authority) = (pem.parse_x509().ok()?, authority.parse_x509().ok()?);
        let signed = certificate
            .verify_signature(Some(authority.public_key()))
            .is_ok();
        let named = names_in(&certificate)? == names.iter().cloned().collect();
        Some(signed && named && is_of(&certificate, &key) && lasts(&certificate, now))
    };
    judge().unwrap_or(false)
}

fn read(path: &Path) -> Option<Pem> {
    let bytes = std::fs::read(path).ok()?;
    Some(x509_parser::pem::parse_x509_pem(&bytes).ok()?.1)
}

fn read_key(path: &Path) -> Option<KeyPair> {
    KeyPair::from_pem(&std::fs::read_to_string(path).ok()?).ok()
}

fn is_of(certificate: &X509Certificate<'_>, key: &KeyPair) -> bool {
    certificate.public_key().raw == key.subject_public_key_info()
}

fn lasts(certificate: &X509Certificate<'_>, now: OffsetDateTime) -> bool {
    let validity = certificate.validity();
    validity.not_before.to_datetime() <= now && now + RESERVE < validity.not_after.to_datetime()
}

fn names_in(certificate: &X509Certificate<'_>) -> Option<BTreeSet<String>> {
    let names = certificate.subject_alternative_name().ok()??;
    let name = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => Some(IpAddr::from(<[u8; 4]>::try_from(*bytes).ok()?).to_string()),
            _ => Some(IpAddr::from(<[u8; 16]>::try_from(*bytes).ok()?).to_string()),
        },
        _ => None,
    };
    names.value.general_names.iter().map(name).collect()
}
