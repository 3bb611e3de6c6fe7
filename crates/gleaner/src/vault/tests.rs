//! What the vault keeps, and what it refuses.

use super::*;

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn given(key: &str) -> Vault {
    Vault { place: Place::Given(Secret::new(key)), key: OnceLock::new() }
}

fn beside(path: &std::path::Path) -> Vault {
    Vault { place: Place::File(path.to_owned()), key: OnceLock::new() }
}

#[test]
fn what_is_sealed_is_opened_for_its_purpose_only() {
    let vault = given(KEY);
    let sealed = vault.seal("x of 1", b"hunter2").unwrap();
    assert_eq!(given(&KEY.to_uppercase()).open("x of 1", &sealed).unwrap(), b"hunter2");
    assert!(matches!(vault.open("x of 2", &sealed), Err(VaultError::Unopened)));
    assert_eq!(vault.open("", &vault.seal("", b"").unwrap()).unwrap(), b"");
}

#[test]
fn the_same_text_never_looks_the_same() {
    let vault = given(KEY);
    let (one, two) = (vault.seal("x", b"hunter2").unwrap(), vault.seal("x", b"hunter2").unwrap());
    assert_ne!(one, two);
    assert!(!one.windows(7).any(|bytes| bytes == b"hunter2"));
}

#[test]
fn damage_and_other_keys_are_told() {
    let vault = given(KEY);
    let sealed = vault.seal("x", b"hunter2").unwrap();
    let other = given(&KEY.replace("00", "01"));
    assert_eq!(
        other.open("x", &sealed).unwrap_err().to_string(),
        "it was encrypted with another key, or is damaged"
    );
    for place in 1..sealed.len() {
        let mut damaged = sealed.clone();
        damaged[place] ^= 1;
        assert!(matches!(vault.open("x", &damaged), Err(VaultError::Unopened)), "byte {place}");
    }
    for length in 0..sealed.len() {
        assert!(vault.open("x", &sealed[..length]).is_err(), "{length} bytes");
    }
    assert!(matches!(vault.open("x", b"\x02rest"), Err(VaultError::UnknownVersion(2))));
}

#[test]
fn keys_must_be_keys() {
    for bad in ["", "00", &KEY[1..], &format!("{KEY}0"), &KEY.replace('0', "g")] {
        assert!(matches!(given(bad).seal("x", b""), Err(VaultError::BadKey)), "{bad}");
    }
    let nowhere = Vault { place: Place::Nowhere, key: OnceLock::new() };
    assert!(nowhere.seal("x", b"").unwrap_err().to_string().contains("set store.key"));
}

#[test]
fn the_key_is_made_once_and_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gleaner.db.key");
    assert!(
        matches!(beside(&path).open("x", &[1; 60]), Err(VaultError::Missing { .. })),
        "opening makes none"
    );
    assert!(!path.exists());
    let sealed = beside(&path).seal("x", b"hunter2").unwrap();
    assert_eq!(beside(&path).open("x", &sealed).unwrap(), b"hunter2");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "and nothing else is left");
    std::fs::write(&path, "nonsense").unwrap();
    assert!(matches!(beside(&path).open("x", &sealed), Err(VaultError::BadFile { .. })));
}

#[test]
fn who_comes_second_takes_the_first_ones_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let keys: Vec<Key> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| file::create(&path).unwrap())).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    beside(&path).seal("x", b"").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o660] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let refused = beside(&path).seal("x", b"").err().unwrap().to_string();
        assert!(refused.contains(&format!("(mode {mode:o}): `chmod 600 ")), "{refused}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    beside(&path).seal("x", b"").unwrap();
}
