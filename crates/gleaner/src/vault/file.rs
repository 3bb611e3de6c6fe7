//! The key file: created once, atomically, and readable only by its owner.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{Key, VaultError, parse_key, random};
use crate::hex;

/// Reads the key from a file; `None` if there is no file.
pub(super) fn read(path: &Path) -> Result<Option<Key>, VaultError> {
    let failed = |source| VaultError::File { path: path.to_owned(), what: "read", source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    check_permissions(&file, path)?;
    let mut text = Vec::new();
    // The file may be something else, and large.
    file.take(1024).read_to_end(&mut text).map_err(failed)?;
    let key = std::str::from_utf8(&text).ok().and_then(parse_key);
    key.map(Some).ok_or_else(|| VaultError::BadFile { path: path.to_owned() })
}

/// Creates a key and its file. If another process is faster, its key is used.
pub(super) fn create(path: &Path) -> Result<Key, VaultError> {
    let failed = |source| VaultError::File { path: path.to_owned(), what: "written", source };
    let (key, suffix): (Key, [u8; 8]) = (random()?, random()?);
    // Written under a temporary name first: a crash must not leave half a key.
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", hex::encode(&suffix)));
    let draft = PathBuf::from(draft);
    let linked = write(&draft, &key).and_then(|()| fs::hard_link(&draft, path));
    let _ = fs::remove_file(&draft);
    let linked = linked.and_then(|()| sync_directory(path));
    match linked {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(path)?.ok_or_else(|| VaultError::Missing { path: path.to_owned() })
        }
        Err(error) => Err(failed(error)),
    }
}

fn write(path: &Path, key: &Key) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(format!("{}\n", hex::encode(key)).as_bytes())?;
    file.sync_all()
}

/// The directory entry must survive a crash too, because what is encrypted next does.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Other systems cannot open directories.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn check_permissions(file: &File, path: &Path) -> Result<(), VaultError> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |source| VaultError::File { path: path.to_owned(), what: "read", source };
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(VaultError::Exposed { path: path.to_owned(), mode }) }
}

/// Other systems rely on the permissions of the user's directory.
#[cfg(not(unix))]
fn check_permissions(_: &File, _: &Path) -> Result<(), VaultError> {
    Ok(())
}
