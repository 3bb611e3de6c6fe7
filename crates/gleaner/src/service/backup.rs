//! Copies of the database, with the key that opens what is encrypted in it. SQLite only: PostgreSQL has better tools of
//! its own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::ServiceError;
use crate::config::{Config, StoreUrl};
use crate::store::{StoreError, whole};
use crate::vault::Vault;

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The database.
    pub database: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// The file of the key, where there is one.
    pub key: Option<PathBuf>,
    /// Where the database that was there before is now.
    pub replaced: Option<PathBuf>,
}

/// Writes a consistent copy of the database, also while a gleaner uses it.
pub async fn back_up(config: &Config, to: &Path, force: bool) -> Result<Copied, ServiceError> {
    let database = sqlite(config, |url| {
        format!(
            "PostgreSQL is backed up by its own tool: pg_dump --format=custom --file={} '{url}'",
            to.display()
        )
    })?;
    if !database.is_file() {
        return Err(ServiceError::missing("the database", &database.display().to_string()));
    }
    let key_to = beside(to, ".key");
    let key = Vault::of(&config.store).file().filter(|key| key.is_file()).map(Path::to_owned);
    for taken in [Some(to), key.is_some().then_some(key_to.as_path())].into_iter().flatten() {
        if !force && taken.exists() {
            let message = format!("{} is there already; name another file, or use --force", taken.display());
            return Err(ServiceError::conflict("file_exists", message));
        }
    }
    // Under another name until it is whole: whoever finds a backup can trust it.
    let draft = beside(to, ".partial");
    remove(&draft).map_err(|error| failed(&draft, &error))?;
    let copied = whole::copy(&database, &draft).await;
    let copied = copied.map_err(ServiceError::from).and_then(|()| {
        sync(&draft).and_then(|()| fs::rename(&draft, to)).map_err(|error| failed(to, &error))
    });
    if copied.is_err() {
        let _ = remove(&draft);
    }
    copied?;
    if let Some(key) = &key {
        copy_key(key, &key_to).map_err(|error| failed(&key_to, &error))?;
    }
    let bytes = fs::metadata(to).map_err(|error| failed(to, &error))?.len();
    Ok(Copied { database: to.to_owned(), bytes, key: key.map(|_| key_to), replaced: None })
}

/// Puts a copy in the database's place. What was there is moved aside, and only where `force` says so; a database in use
/// likewise.
pub async fn restore(config: &Config, from: &Path, force: bool) -> Result<Copied, ServiceError> {
    let database = sqlite(config, |url| {
        format!(
            "PostgreSQL is restored by its own tool: pg_restore --clean --if-exists --dbname='{url}' {}",
            from.display()
        )
    })?;
    check(from).await?;
    let replaced = make_room(&database, force).await?;
    if let Some(directory) = database.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    }
    let draft = beside(&database, ".restoring");
    let copied =
        fs::copy(from, &draft).and_then(|_| sync(&draft)).and_then(|()| fs::rename(&draft, &database));
    copied.map_err(|error| failed(&database, &error))?;
    let (key_from, key_to) = (beside(from, ".key"), Vault::of(&config.store).file().map(Path::to_owned));
    let key = key_to.filter(|_| key_from.is_file());
    if let Some(key) = &key {
        copy_key(&key_from, key).map_err(|error| failed(key, &error))?;
    }
    let bytes = fs::metadata(&database).map_err(|error| failed(&database, &error))?.len();
    Ok(Copied { database, bytes, key, replaced })
}

/// Refuses what is no sound copy of a database that this gleaner knows.
async fn check(from: &Path) -> Result<(), ServiceError> {
    let wrong = |why: &str| {
        ServiceError::invalid("file", format!("{} is no backup to restore: {why}", from.display()))
    };
    if !from.is_file() {
        return Err(ServiceError::missing("the file", &from.display().to_string()));
    }
    if fs::metadata(beside(from, "-wal")).is_ok_and(|log| log.len() > 0) {
        return Err(wrong(
            "it has a log beside it, as a database in use has; `gleaner backup` makes whole copies",
        ));
    }
    let state = whole::examine(from).await.map_err(|error| wrong(&error.to_string()))?;
    if !state.damage.is_empty() {
        return Err(wrong(&format!("it is damaged:\n  {}", state.damage.join("\n  "))));
    }
    match state.version {
        0 => Err(wrong("it is an SQLite database, but not gleaner's")),
        found if found > state.known => {
            let known = state.known;
            Err(StoreError::Newer { database: from.display().to_string(), found, known }.into())
        }
        _ => Ok(()),
    }
}

/// Moves what is in the way aside, with what belongs to it.
async fn make_room(database: &Path, force: bool) -> Result<Option<PathBuf>, ServiceError> {
    if !database.exists() {
        return Ok(None);
    }
    let shown = database.display();
    match whole::settle(database).await {
        Err(StoreError::Locked { .. }) if !force => {
            let message = format!("{shown} is in use; stop gleaner first, or use --force to pull it away");
            return Err(ServiceError::conflict("database_in_use", message));
        }
        // What cannot be opened is all the more to be replaced.
        _ if !force => {
            let message = format!("there is a database already at {shown}; --force moves it aside");
            return Err(ServiceError::conflict("database_exists", message));
        }
        _ => {}
    }
    let aside = beside(database, ".replaced");
    for suffix in ["", "-wal", "-shm", ".key"] {
        let (from, to) = (beside(database, suffix), beside(&aside, suffix));
        remove(&to).map_err(|error| failed(&to, &error))?;
        match (from.exists(), suffix) {
            (false, _) => {}
            // A copy may come without one, and then this is the one that opens it.
            (true, ".key") => copy_key(&from, &to).map_err(|error| failed(&to, &error))?,
            (true, _) => fs::rename(&from, &to).map_err(|error| failed(&to, &error))?,
        }
    }
    Ok(Some(aside))
}

fn sqlite(config: &Config, otherwise: impl Fn(String) -> String) -> Result<PathBuf, ServiceError> {
    match &config.store.url {
        StoreUrl::Sqlite(path) => Ok(path.clone()),
        StoreUrl::Postgres(url) => {
            let mut url = url.expose().clone();
            // It comes from ~/.pgpass or PGPASSWORD; on a command line everybody would see it.
            let _ = url.set_password(None);
            Err(ServiceError::invalid("store.url", otherwise(url.to_string())))
        }
    }
}

/// A name with something added at its end.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A key is for its owner's eyes only, wherever it is.
fn copy_key(from: &Path, to: &Path) -> io::Result<()> {
    let key = fs::read(from)?;
    remove(to)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(to)?;
    file.write_all(&key)?;
    file.sync_all()
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn failed(path: &Path, error: &io::Error) -> ServiceError {
    ServiceError::File { path: path.to_owned(), why: error.to_string() }
}
