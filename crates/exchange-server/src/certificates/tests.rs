use super::*;
use std::os::unix::fs::PermissionsExt;
use time::Duration;

fn usual() -> Vec<String> {
    names("127.0.0.1".parse().unwrap())
}

fn texts(certificates: &Certificates) -> [String; 4] {
    [
        &certificates.authority,
        &certificates.authority_key,
        &certificates.certificate,
        &certificates.key,
    ]
    .map(|path| fs::read_to_string(path).unwrap())
}

/// Which of the four files differ from one start to the next.
fn renewed(before: &[String; 4], certificates: &Certificates) -> [bool; 4] {
    let after = texts(certificates);
    std::array::from_fn(|file| before[file] != after[file])
}

#[test]
fn both_are_kept_and_keys_are_the_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let now = OffsetDateTime::now_utc();
    let certificates = Certificates::at(&folder.path().join("a/b"), &usual(), now).unwrap();
    for key in [&certificates.authority_key, &certificates.key] {
        assert_eq!(
            fs::metadata(key).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    let before = texts(&certificates);
    let again = Certificates::at(&folder.path().join("a/b"), &usual(), now).unwrap();
    assert_eq!(renewed(&before, &again), [false; 4]);
    certificates.server_config().unwrap();
}

#[test]
fn what_expires_lacks_a_name_or_is_damaged_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let now = OffsetDateTime::now_utc();
    let make = |names: &[String], now| Certificates::at(folder.path(), names, now).unwrap();
    let before = texts(&make(&usual(), now));
    let later = make(&usual(), now + issue::CERTIFICATE_LIFE - Duration::days(3));
    assert_eq!(renewed(&before, &later), [false, false, true, true]);

    let before = texts(&later);
    let more_names = [usual(), vec!["192.0.2.1".to_owned()]].concat();
    assert_eq!(
        renewed(&before, &make(&more_names, now)),
        [false, false, true, true]
    );

    let before = texts(&make(&usual(), now));
    let much_later = make(&usual(), now + issue::AUTHORITY_LIFE);
    assert_eq!(renewed(&before, &much_later), [true; 4]);

    let certificates = make(&usual(), now);
    let before = texts(&certificates);
    fs::write(&certificates.key, "-----BEGIN PRIVATE KEY-----\nAAAA\n").unwrap();
    assert_eq!(
        renewed(&before, &make(&usual(), now)),
        [false, false, true, true]
    );
    // An authority whose key is another's could issue nothing that its certificate vouches for.
    let before = texts(&certificates);
    fs::copy(&certificates.key, &certificates.authority_key).unwrap();
    assert_eq!(renewed(&before, &make(&usual(), now)), [true; 4]);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Certificates::in_folder(&file.path().join("x"), "127.0.0.1".parse().unwrap());
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains("--certificates") && text.contains(file.path().to_str().unwrap()),
        "{text}"
    );
}
