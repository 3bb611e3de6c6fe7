//! Copies of the database, with the key that opens what is encrypted in it. SQLite only: PostgreSQL has better tools of
//! its own.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use gleaner_core::time::Time;
use serde_json::json;

use super::ServiceError;
use super::actor::via_command_line;
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, StoreUrl};
use crate::store::{NewAudit, StoreError, maintenance};
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
    let key = Vault::for_store(&config.store).file().filter(|key| key.is_file()).map(Path::to_owned);
    for taken in [Some(to), key.is_some().then_some(key_to.as_path())].into_iter().flatten() {
        if !force && taken.exists() {
            let message = format!("{} is there already; name another file, or use --force", taken.display());
            return Err(ServiceError::conflict("file_exists", message));
        }
    }
    // Under another name until it is whole: whoever finds a backup can trust it.
    let draft = beside(to, ".partial");
    remove(&draft).and_then(|()| create_private(&draft).map(drop)).map_err(|error| failed(&draft, &error))?;
    let copied = maintenance::copy(&database, &draft).await;
    let now = SystemClock.now();
    let copied = match copied {
        Ok(()) => maintenance::mark_copy(&draft, now).await,
        Err(error) => Err(error),
    };
    let copied = copied.map_err(ServiceError::from).and_then(|()| {
        sync(&draft).and_then(|()| fs::rename(&draft, to)).map_err(|error| failed(to, &error))
    });
    if copied.is_err() {
        let _ = remove(&draft);
    }
    copied?;
    if let Some(key) = &key {
        copy_private(key, &key_to).map_err(|error| failed(&key_to, &error))?;
    }
    let entry = audit_entry("backup", to, now, None);
    if let Err(error) = maintenance::append_audit(&database, &entry).await {
        tracing::error!(%error, "the backup is made, but its row of the audit log could not be written");
    }
    let bytes = fs::metadata(to).map_err(|error| failed(to, &error))?.len();
    Ok(Copied { database: to.to_owned(), bytes, key: key.map(|_| key_to), replaced: None })
}

/// Puts a copy in the database's place, whole or not at all: it is checked, copied beside the database and synced before
/// anything there is touched. The former database is kept under a name of its own; replacing one, or one in use, needs
/// `force`.
pub async fn restore(config: &Config, from: &Path, force: bool) -> Result<Copied, ServiceError> {
    let database = sqlite(config, |url| {
        format!(
            "PostgreSQL is restored by its own tool: pg_restore --clean --if-exists --dbname='{url}' {}",
            from.display()
        )
    })?;
    if is_same_file(from, &database) {
        let message = format!("{} is the database itself; name a backup of it", from.display());
        return Err(ServiceError::invalid("file", message));
    }
    check(from).await?;
    may_replace(&database, force).await?;
    if let Some(directory) = database.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    }
    let (key_from, key_to) =
        (beside(from, ".key"), Vault::for_store(&config.store).file().map(Path::to_owned));
    let key = key_to.filter(|_| key_from.is_file());
    let drafts = Drafts {
        database: beside(&database, ".restoring"),
        key: key.as_deref().map(|key| beside(key, ".restoring")),
    };
    drafts.prepare(from, &key_from).map_err(|error| failed(&drafts.database, &error))?;
    let taken_at = maintenance::take_mark(&drafts.database).await?;
    let changes = json!({ "backup_taken_at": taken_at }).to_string();
    let entry = audit_entry("restore", from, SystemClock.now(), Some(changes));
    maintenance::append_audit(&drafts.database, &entry).await?;
    let replaced = keep_former(&database).map_err(|error| failed(&database, &error))?;
    if let Err(error) = drafts.put_in_place(&database, key.as_deref()) {
        put_key_back(key.as_deref(), replaced.as_deref());
        return Err(failed(&database, &error));
    }
    let bytes = fs::metadata(&database).map_err(|error| failed(&database, &error))?.len();
    Ok(Copied { database, bytes, key, replaced })
}

/// The row of the audit log that says what became of a database as a whole, from the command line.
fn audit_entry(action: &str, file: &Path, at: Time, changes: Option<String>) -> NewAudit {
    NewAudit {
        at,
        user_id: None,
        user_name: String::new(),
        via: via_command_line(),
        address: None,
        action: action.to_owned(),
        target_kind: "database".to_owned(),
        target_id: None,
        target_name: file.display().to_string(),
        changes,
        fold_key: None,
    }
}

/// Copies that are whole before they are put in place. What was not put in place is removed.
struct Drafts {
    database: PathBuf,
    key: Option<PathBuf>,
}

impl Drafts {
    fn prepare(&self, database: &Path, key: &Path) -> io::Result<()> {
        copy_private(database, &self.database)?;
        self.key.as_ref().map_or(Ok(()), |draft| copy_private(key, draft))
    }

    /// The key first: without it the new database could not be read, and the former key is kept beside the former database.
    fn put_in_place(&self, database: &Path, key: Option<&Path>) -> io::Result<()> {
        if let (Some(draft), Some(key)) = (&self.key, key) {
            fs::rename(draft, key)?;
        }
        // A log that belongs to the former database would be applied to this one.
        remove(&beside(database, "-wal"))?;
        remove(&beside(database, "-shm"))?;
        fs::rename(&self.database, database)?;
        sync(database.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
    }
}

impl Drop for Drafts {
    fn drop(&mut self) {
        let _ = remove(&self.database);
        let _ = self.key.as_deref().map(remove);
    }
}

/// The former database stays in use, and needs the key that opens it.
fn put_key_back(key: Option<&Path>, former: Option<&Path>) {
    if let (Some(key), Some(former)) = (key, former.map(|former| beside(former, ".key")))
        && former.is_file()
        && let Err(error) = copy_private(&former, key)
    {
        tracing::error!(%error, key = %key.display(), former = %former.display(), "the former key could not be put back; copy it by hand");
    }
}

/// Whether two paths lead to one file, by whatever links.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let same_path =
        matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other);
    #[cfg(unix)]
    let same_inode = {
        use std::os::unix::fs::MetadataExt as _;
        let id = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
        matches!((id(one), id(other)), (Ok(one), Ok(other)) if one == other)
    };
    #[cfg(not(unix))]
    let same_inode = false;
    same_path || same_inode
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
    let state = maintenance::check_file(from).await.map_err(|error| wrong(&error.to_string()))?;
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

/// Refuses to replace a database unless `force` says so.
async fn may_replace(database: &Path, force: bool) -> Result<(), ServiceError> {
    if !database.exists() {
        return Ok(());
    }
    let shown = database.display();
    match maintenance::merge_log(database).await {
        Err(StoreError::Locked { .. }) if !force => {
            let message = format!("{shown} is in use; stop gleaner first, or use --force to pull it away");
            Err(ServiceError::conflict("database_in_use", message))
        }
        // What cannot be opened is all the more to be replaced.
        _ if !force => {
            let message = format!(
                "there is a database already at {shown}; --force keeps it under another name and replaces it"
            );
            Err(ServiceError::conflict("database_exists", message))
        }
        _ => Ok(()),
    }
}

/// Gives the former database, with its log and its key, a second name that nothing has yet. It stays where it is until the
/// new one takes its place.
fn keep_former(database: &Path) -> io::Result<Option<PathBuf>> {
    if !database.exists() {
        return Ok(None);
    }
    let parts = ["", "-wal", "-shm", ".key"];
    let is_free = |name: &PathBuf| parts.iter().all(|suffix| !beside(name, suffix).exists());
    let names = std::iter::once(".replaced".to_owned()).chain((2..10_000).map(|n| format!(".replaced-{n}")));
    let former = names.map(|suffix| beside(database, &suffix)).find(is_free);
    let former = former.ok_or_else(|| io::Error::other("10,000 former databases are there; remove some"))?;
    for suffix in parts {
        let (from, to) = (beside(database, suffix), beside(&former, suffix));
        match (from.exists(), suffix) {
            (false, _) => {}
            // The key's own file is overwritten by a rename, or stays in use.
            (true, ".key") => copy_private(&from, &to)?,
            (true, _) => fs::hard_link(&from, &to).or_else(|_| copy_private(&from, &to))?,
        }
    }
    Ok(Some(former))
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

/// A new file that only its owner reads.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Copies a file to one that only its owner reads, and waits until that is durable.
fn copy_private(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    remove(to)?;
    let mut file = create_private(to)?;
    io::copy(&mut source, &mut file)?;
    file.sync_all()
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn failed(path: &Path, error: &io::Error) -> ServiceError {
    ServiceError::File { path: path.to_owned(), why: error.to_string() }
}
