//! Makes certificates.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

/// The authority lasts long, since trusting it may take work.
pub const AUTHORITY_LIFE: Duration = Duration::days(5 * 365);
/// Some clients refuse certificates that last longer than 398 days.
pub const CERTIFICATE_LIFE: Duration = Duration::days(390);
/// Clocks of clients in containers and virtual machines may be behind.
const BEFORE: Duration = Duration::days(1);

/// An authority and its certificate as PEM.
pub fn authority(now: OffsetDateTime) -> Result<(Issuer<'static, KeyPair>, String), rcgen::Error> {
    let params = authority_params(now);
    let key = KeyPair::generate()?;
    let pem = params.self_signed(&key)?.pem();
    Ok((Issuer::new(params, key), pem))
}

/// An authority made earlier, by its key: what it signs depends on the key and the name alone.
pub fn authority_of(key: KeyPair, now: OffsetDateTime) -> Issuer<'static, KeyPair> {
    Issuer::new(authority_params(now), key)
}

fn authority_params(now: OffsetDateTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = name("feedbench private authority of simulated exchanges");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = (now - BEFORE, now + AUTHORITY_LIFE);
    params
}

/// A certificate for these names and addresses, with its key.
pub fn certificate(
    authority: &Issuer<'static, KeyPair>,
    names: &[String],
    now: OffsetDateTime,
) -> Result<(KeyPair, String), rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = name("feedbench exchange");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = (now - BEFORE, now + CERTIFICATE_LIFE);
    let key = KeyPair::generate()?;
    let pem = params.signed_by(&key, authority)?.pem();
    Ok((key, pem))
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}
