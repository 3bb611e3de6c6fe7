//! The file that holds the key: made once, whole, and for its owner's eyes only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{Key, VaultError, key_of, random};
use crate::hex;

/// The key in a file; none where there is no file.
pub(super) fn read(path: &Path) -> Result<Option<Key>, VaultError> {
    let failed = |source| VaultError::File { path: path.to_owned(), what: "read", source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    refuse_exposed(&file, path)?;
    let mut text = Vec::new();
    // Whatever else is there under that name may be large.
    file.take(1024).read_to_end(&mut text).map_err(failed)?;
    let key = std::str::from_utf8(&text).ok().and_then(key_of);
    key.map(Some).ok_or_else(|| VaultError::BadFile { path: path.to_owned() })
}

/// Makes a key and its file. Where another process is faster, its key is taken.
pub(super) fn create(path: &Path) -> Result<Key, VaultError> {
    let failed = |source| VaultError::File { path: path.to_owned(), what: "written", source };
    let (key, suffix): (Key, [u8; 8]) = (random()?, random()?);
    // Under another name until it is whole: a crash in between must not leave half a key.
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", hex::encode(&suffix)));
    let draft = PathBuf::from(draft);
    let linked = write(&draft, &key).and_then(|()| fs::hard_link(&draft, path));
    let _ = fs::remove_file(&draft);
    let linked = linked.and_then(|()| keep_name(path));
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

/// The name, too, must outlast a crash: what is sealed next outlasts one.
#[cfg(unix)]
fn keep_name(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere directories cannot be opened.
#[cfg(not(unix))]
fn keep_name(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn refuse_exposed(file: &File, path: &Path) -> Result<(), VaultError> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |source| VaultError::File { path: path.to_owned(), what: "read", source };
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(VaultError::Exposed { path: path.to_owned(), mode }) }
}

/// Elsewhere a file in the user's own directory is the user's own.
#[cfg(not(unix))]
fn refuse_exposed(_: &File, _: &Path) -> Result<(), VaultError> {
    Ok(())
}
