//! Errors of the store; the driver's error is the `source`.

/// A store's failure.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing.
    #[error("{entity} {key} does not exist")]
    NotFound { entity: &'static str, key: String },
    /// There is one already.
    #[error("{entity} {key} already exists{}", id.map(|id| format!(", with the id {id}")).unwrap_or_default())]
    Duplicate {
        entity: &'static str,
        key: String,
        /// The id of the one that is there.
        id: Option<i64>,
    },
    /// Somebody changed it since it was read.
    #[error("{entity} {key} was changed meanwhile; read it again")]
    Changed { entity: &'static str, key: String },
    /// It is still in use.
    #[error("{entity} {key} cannot be deleted: {why}")]
    InUse { entity: &'static str, key: String, why: &'static str },
    /// The URL names no database.
    #[error("'{url}' names no database: {why}")]
    BadUrl {
        /// The URL, without its password.
        url: String,
        why: String,
    },
    /// It was there before and is gone, or is empty.
    #[error(
        "the database {database} is missing or empty, but it was there before; restore a backup with `gleaner restore`, \
         put the file back, or delete {marker} to begin with an empty one"
    )]
    Missing {
        database: String,
        /// The file that says that it was there.
        marker: String,
    },
    /// A later gleaner wrote it.
    #[error(
        "the database {database} has schema version {found}, but this gleaner knows only {known}; \
         use the gleaner that wrote it, or a newer one"
    )]
    Newer { database: String, found: i64, known: i64 },
    /// It cannot be written.
    #[error(
        "the database {database} is read-only; check the permissions of the file and its directory, or the role"
    )]
    ReadOnly { database: String, source: sqlx::Error },
    /// Another process holds it.
    #[error("the database {database} is locked by another process; stop that one, or wait until it is done")]
    Locked { database: String, source: sqlx::Error },
    /// There is no room left.
    #[error("the database {database} has no room left to write; free some disk space")]
    Full { database: String, source: sqlx::Error },
    /// It does not answer, or not in time.
    #[error("the database {database} does not answer; is it there, and the network between?")]
    Silent { database: String },
    /// Anything else.
    #[error("the database {database} failed: {source}; `gleaner doctor` looks for the reason")]
    Database { database: String, source: sqlx::Error },
}

impl StoreError {
    /// Whether it concerns the database as a whole, so that trying part of the work alone is no use. An error of a statement
    /// or a row does not; a shutdown or a conflict with another transaction does.
    pub fn is_for_all(&self) -> bool {
        match self {
            Self::ReadOnly { .. } | Self::Locked { .. } | Self::Full { .. } | Self::Silent { .. } => true,
            // Statements that cannot be run, by SQLite's word and by PostgreSQL's.
            Self::Database { source, .. } => !is_of(source, &["1"], &["0A", "42"]) && !self.is_about_a_row(),
            _ => false,
        }
    }

    /// Whether the database refuses the data that is to be written.
    pub fn is_about_a_row(&self) -> bool {
        match self {
            // Too big, against a constraint, of a wrong type, out of range; data, constraints, limits, and what a
            // function raised.
            Self::Database { source, .. } => {
                is_of(source, &["18", "19", "20", "25"], &["22", "23", "54", "P0"])
            }
            _ => false,
        }
    }

    /// Classifies a driver's error by its code, never by its text.
    pub(super) fn from_driver(database: &str, source: sqlx::Error) -> Self {
        let database = database.to_owned();
        match &source {
            sqlx::Error::PoolTimedOut => return Self::Silent { database },
            sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                return Self::Silent { database };
            }
            _ => {}
        }
        match code(&source).as_deref() {
            Some("8" | "25006" | "42501") => Self::ReadOnly { database, source },
            Some("5" | "6" | "55P03") => Self::Locked { database, source },
            Some("13" | "53100") => Self::Full { database, source },
            _ => Self::Database { database, source },
        }
    }
}

/// A driver's code: of SQLite's the primary one, which extended ones keep in their lowest byte; PostgreSQL's have five
/// characters.
fn code(source: &sqlx::Error) -> Option<String> {
    let code = source.as_database_error()?.code()?.into_owned();
    Some(match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => (number & 0xff).to_string(),
        _ => code,
    })
}

/// Whether a driver's code is one of these of SQLite's, or of one of these classes of PostgreSQL's.
fn is_of(source: &sqlx::Error, codes: &[&str], classes: &[&str]) -> bool {
    code(source).is_some_and(|code| match code.len() {
        5 => classes.iter().any(|class| code.starts_with(class)),
        _ => codes.contains(&code.as_str()),
    })
}
