use super::*;

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn configured(key: &str) -> Vault {
    Vault { location: KeyLocation::Configured(Secret::new(key)), key: OnceLock::new() }
}

fn with_file(path: &std::path::Path) -> Vault {
    Vault { location: KeyLocation::File(path.to_owned()), key: OnceLock::new() }
}

#[test]
fn ciphertexts_are_bound_to_their_purpose() {
    let vault = configured(KEY);
    let sealed = vault.seal("x of 1", b"hunter2").unwrap();
    assert_eq!(configured(&KEY.to_uppercase()).open("x of 1", &sealed).unwrap(), b"hunter2");
    assert!(matches!(vault.open("x of 2", &sealed), Err(VaultError::CannotDecrypt)));
    assert_eq!(vault.open("", &vault.seal("", b"").unwrap()).unwrap(), b"");
}

#[test]
fn equal_texts_have_different_ciphertexts() {
    let vault = configured(KEY);
    let (one, two) = (vault.seal("x", b"hunter2").unwrap(), vault.seal("x", b"hunter2").unwrap());
    assert_ne!(one, two);
    assert!(!one.windows(7).any(|bytes| bytes == b"hunter2"));
}

#[test]
fn damage_and_wrong_keys_are_detected() {
    let vault = configured(KEY);
    let sealed = vault.seal("x", b"hunter2").unwrap();
    let other = configured(&KEY.replace("00", "01"));
    assert_eq!(
        other.open("x", &sealed).unwrap_err().to_string(),
        "it was encrypted with another key, or is damaged"
    );
    for place in 1..sealed.len() {
        let mut damaged = sealed.clone();
        damaged[place] ^= 1;
        assert!(matches!(vault.open("x", &damaged), Err(VaultError::CannotDecrypt)), "byte {place}");
    }
    for length in 0..sealed.len() {
        assert!(vault.open("x", &sealed[..length]).is_err(), "{length} bytes");
    }
    assert!(matches!(vault.open("x", b"\x02rest"), Err(VaultError::UnknownVersion(2))));
}

#[test]
fn invalid_keys_are_refused() {
    for bad in ["", "00", &KEY[1..], &format!("{KEY}0"), &KEY.replace('0', "g")] {
        assert!(matches!(configured(bad).seal("x", b""), Err(VaultError::BadKey)), "{bad}");
    }
    let without_key = Vault { location: KeyLocation::Missing, key: OnceLock::new() };
    assert!(without_key.seal("x", b"").unwrap_err().to_string().contains("set store.key"));
}

#[test]
fn the_key_is_created_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gleaner.db.key");
    assert!(
        matches!(with_file(&path).open("x", &[1; 60]), Err(VaultError::Missing { .. })),
        "opening makes none"
    );
    assert!(!path.exists());
    let sealed = with_file(&path).seal("x", b"hunter2").unwrap();
    assert_eq!(with_file(&path).open("x", &sealed).unwrap(), b"hunter2");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "and nothing else is left");
    std::fs::write(&path, "nonsense").unwrap();
    assert!(matches!(with_file(&path).open("x", &sealed), Err(VaultError::BadFile { .. })));
}

#[test]
fn concurrent_creation_yields_one_key() {
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
fn a_key_readable_by_others_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    with_file(&path).seal("x", b"").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o660] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let refused = with_file(&path).seal("x", b"").err().unwrap().to_string();
        assert!(refused.contains(&format!("(mode {mode:o}): `chmod 600 ")), "{refused}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    with_file(&path).seal("x", b"").unwrap();
}
