//! `backup` and `restore`: a whole copy of a database in use, put back elsewhere.

use super::Place;
use super::site::{CONFIG, Site};

fn elsewhere(site: &Site) -> Site {
    let other = Site::local();
    for file in ["copy.db", "copy.db.key"] {
        std::fs::copy(site.place.path().join(file), other.place.path().join(file)).unwrap();
    }
    other
}

#[test]
fn a_served_database_is_copied_and_restored_elsewhere() {
    let mut site = Site::local();
    site.run(&["collection", "create", "news"]).ok();
    site.run_with(&["key", "set", "x"], "hunter2").ok();
    let local = |site: &Site, args: &[&str]| {
        site.place.command(&[&["--config", "gleaner.toml"], args].concat()).output().unwrap()
    };
    site.serve();
    let output = local(&site, &["backup", "copy.db"]);
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.starts_with("wrote copy.db (") && out.contains("the key is in copy.db.key, keep it as safe"),
        "{out}"
    );
    let again = local(&site, &["backup", "copy.db"]);
    let err = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(4));
    assert_eq!(err, "error: copy.db is there already; name another file, or use --force\n");
    assert_eq!(local(&site, &["backup", "copy.db", "--force"]).status.code(), Some(0));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for file in ["copy.db", "copy.db.key"] {
            let mode = std::fs::metadata(site.place.path().join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
    }
    let refused = local(&site, &["restore", "copy.db"]);
    assert_eq!(refused.status.code(), Some(4));
    let err = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(err, "error: gleaner.db is in use; stop gleaner first, or use --force to pull it away\n");
    let other = elsewhere(&site);
    assert_eq!(other.run(&["restore", "copy.db"]).ok(), "restored gleaner.db from copy.db\n");
    assert!(other.run(&["collection", "list"]).ok().contains("news"));
    assert_eq!(other.run(&["key", "show", "x"]).ok(), "admin has a key for x\n");
    other.run(&["collection", "create", "later"]).ok();
    let there = other.run(&["restore", "copy.db"]).failed(4);
    assert_eq!(
        there,
        "error: there is a database already at gleaner.db; --force keeps it under another name and replaces it\n"
    );
    let forced = other.run(&["restore", "copy.db", "--force"]).ok();
    assert_eq!(forced, "restored gleaner.db from copy.db; what was there is gleaner.db.replaced\n");
    let listed = other.run(&["collection", "list"]).ok();
    assert!(listed.contains("news") && !listed.contains("later"), "{listed}");
    let old = other.run(&["--set", "store.url=gleaner.db.replaced", "collection", "list"]).ok();
    assert!(old.contains("later"), "{old}");
}

#[test]
fn backups_and_restores_are_in_the_audit_log() {
    let rows = |site: &Site| -> Vec<serde_json::Value> {
        let listed = site.run(&["audit", "--json"]).ok();
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let site = backed_up();
    let row = rows(&site).into_iter().find(|row| row["action"] == "backup").expect("the backup has a row");
    assert_eq!((&row["user_name"], &row["target_name"]), (&"admin".into(), &"copy.db".into()));
    assert!(row["via"].as_str().unwrap().starts_with("command line (OS user "), "{row}");
    let other = elsewhere(&site);
    other.run(&["restore", "copy.db"]).ok();
    let all = rows(&other);
    let newest = &all[0];
    assert_eq!((&newest["action"], &newest["target_name"]), (&"restore".into(), &"copy.db".into()));
    let taken_at = newest["changes"]["backup_taken_at"].as_str().expect("it says when the backup was taken");
    assert!(taken_at.starts_with("20"), "{taken_at}");
    assert!(all.iter().all(|row| row["action"] != "backup"), "what came after the backup is not in it");
    // A database that was restored is no backup any more, until it is backed up again.
    std::fs::copy(other.place.path().join("gleaner.db"), other.place.path().join("raw.db")).unwrap();
    other.run(&["restore", "raw.db", "--force"]).ok();
    assert_eq!(rows(&other)[0]["changes"]["backup_taken_at"], serde_json::Value::Null);
}

/// A site with a database and a backup of it.
fn backed_up() -> Site {
    let site = Site::local();
    site.run(&["collection", "create", "before"]).ok();
    site.run_with(&["key", "set", "x"], "hunter2").ok();
    site.run(&["backup", "copy.db"]).ok();
    site.run(&["collection", "create", "after"]).ok();
    site
}

#[cfg(unix)]
#[test]
fn a_restored_database_is_private_whatever_its_backup_was() {
    use std::os::unix::fs::PermissionsExt as _;
    let site = backed_up();
    let path = |file: &str| site.place.path().join(file);
    std::fs::set_permissions(path("copy.db"), std::fs::Permissions::from_mode(0o644)).unwrap();
    site.run(&["restore", "copy.db", "--force"]).ok();
    assert_eq!(std::fs::metadata(path("gleaner.db")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn no_former_database_is_ever_overwritten() {
    let site = backed_up();
    for expected in ["gleaner.db.replaced", "gleaner.db.replaced-2", "gleaner.db.replaced-3"] {
        let out = site.run(&["restore", "copy.db", "--force"]).ok();
        assert!(out.ends_with(&format!("what was there is {expected}\n")), "{out}");
        assert!(site.place.path().join(format!("{expected}.key")).exists(), "its key is kept with it");
    }
    let first = site.run(&["--set", "store.url=gleaner.db.replaced", "collection", "list"]).ok();
    assert!(first.contains("after"), "{first}");
    let left: Vec<_> =
        std::fs::read_dir(site.place.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("restoring")), "{left:?}");
}

#[test]
fn a_database_is_not_restored_onto_itself() {
    let site = backed_up();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("gleaner.db", site.place.path().join("link.db")).unwrap();
        std::fs::hard_link(site.place.path().join("gleaner.db"), site.place.path().join("hard.db")).unwrap();
    }
    for name in ["gleaner.db", "./gleaner.db", "link.db", "hard.db"] {
        if site.place.path().join(name).exists() {
            let err = site.run(&["restore", name, "--force"]).failed(2);
            assert!(err.contains("is the database itself"), "{err}");
        }
    }
    assert!(site.run(&["collection", "list"]).ok().contains("after"));
}

#[test]
fn a_restore_that_fails_leaves_everything_as_it_was() {
    let site = backed_up();
    let mut damaged = std::fs::read(site.place.path().join("copy.db")).unwrap();
    let end = damaged.len() - 1000;
    damaged[8192..end].fill(0xff);
    std::fs::write(site.place.path().join("copy.db"), damaged).unwrap();
    site.run(&["restore", "copy.db", "--force"]).failed(2);
    assert!(site.run(&["collection", "list"]).ok().contains("after"));
    assert!(!site.place.path().join("gleaner.db.replaced").exists());
    assert_eq!(site.run(&["key", "show", "x"]).ok(), "admin has a key for x\n");
}

#[test]
fn a_database_that_is_gone_is_not_begun_anew() {
    let site = backed_up();
    let path = |file: &str| site.place.path().join(file);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(path(&format!("gleaner.db{suffix}")));
    }
    for command in [&["collection", "list"][..], &["serve"][..]] {
        let err = site.run(command).failed(6);
        assert!(
            err.contains("the database gleaner.db is missing or empty, but it was there before"),
            "{err}"
        );
        assert!(!path("gleaner.db").exists());
    }
    let doctor = site.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("is missing, but it was there before"), "{}", doctor.out);
    std::fs::write(path("gleaner.db"), "").unwrap();
    site.run(&["collection", "list"]).failed(6);
    std::fs::remove_file(path("gleaner.db")).unwrap();
    site.run(&["restore", "copy.db"]).ok();
    assert!(site.run(&["collection", "list"]).ok().contains("before"));
    for suffix in ["", "-wal", "-shm", ".initialized"] {
        let _ = std::fs::remove_file(path(&format!("gleaner.db{suffix}")));
    }
    assert!(
        !site.run(&["collection", "list"]).ok().contains("before"),
        "who removes the marker wants a new one"
    );
}

#[test]
fn only_sound_copies_are_restored() {
    let site = Site::local();
    site.run(&["collection", "list"]).ok();
    site.run(&["backup", "copy.db"]).ok();
    let other = Site::local();
    let copy = std::fs::read(site.place.path().join("copy.db")).unwrap();
    let mut damaged = copy.clone();
    let end = damaged.len() - 1000;
    damaged[8192..end].fill(0xff);
    for (bytes, words) in [
        (&damaged[..], "is no backup to restore: "),
        (&copy[..20_000], "is no backup to restore: "),
        (b"hello, this is just some text", "is no backup to restore: "),
        (b"", "it is an SQLite database, but not gleaner's"),
    ] {
        std::fs::write(other.place.path().join("bad.db"), bytes).unwrap();
        let err = other.run(&["restore", "bad.db"]).failed(2);
        assert!(err.contains(words), "{err}");
    }
    assert!(!other.place.path().join("gleaner.db").exists());
    assert_eq!(other.run(&["restore", "no.db"]).failed(3), "error: the file no.db does not exist\n");
    assert_eq!(other.run(&["backup", "b.db"]).failed(3), "error: the database gleaner.db does not exist\n");
    let remote = other.run(&["--server", "http://127.0.0.1:1", "backup", "b.db"]).failed(2);
    assert!(remote.contains("works where the database is"), "{remote}");
}

#[test]
fn postgresql_has_its_own_tools() {
    let config = CONFIG.replace("gleaner.db", "postgres://me:hunter2@db.example/gleaner");
    let place = Place::with_config(&config);
    let backup = place.run(&["--config", "gleaner.toml", "backup", "copy.dump"]).failed(2);
    assert_eq!(
        backup,
        "error: PostgreSQL is backed up by its own tool: pg_dump --format=custom --file=copy.dump \
         'postgres://me@db.example/gleaner'\n"
    );
    let restore = place.run(&["--config", "gleaner.toml", "restore", "copy.dump"]).failed(2);
    assert!(restore.contains("pg_restore --clean --if-exists --dbname='postgres://me@db.example/gleaner'"));
}

#[test]
fn shells_and_man_are_told() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(&["completions", shell]).ok();
        assert!(script.contains("gleaner") && script.contains("collection"), "{script}");
    }
    place.run(&["completions", "tcsh"]).failed(2);
    let told = place.run(&["man", "pages/man1"]).ok();
    assert!(told.starts_with("wrote ") && told.ends_with(" pages into pages/man1\n"), "{told}");
    let page = std::fs::read_to_string(place.path().join("pages/man1/gleaner.1")).unwrap();
    assert!(page.contains("Exit codes"), "{page}");
    assert!(place.path().join("pages/man1/gleaner-token-create.1").exists());
}
