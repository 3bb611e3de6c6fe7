//! Who does something, and what they may do.

use std::net::IpAddr;

use super::{ServiceError, proxy_sign_in};
use crate::store::{Token, TokenKind, User};

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Look at everything that is no secret.
    Read,
    /// Change it, too.
    Write,
}

impl Scope {
    /// As tokens say it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Scopes of a text such as `read write`; what is unknown allows nothing.
    pub fn parse_all(text: &str) -> Vec<Self> {
        let scope = |word| [Self::Read, Self::Write].into_iter().find(|scope| scope.name() == word);
        text.split_whitespace().filter_map(scope).collect()
    }
}

/// Somebody who does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The user.
    pub user_id: i64,
    /// What the user is called.
    pub name: String,
    /// Whether the user manages users.
    pub is_admin: bool,
    /// What was granted.
    scopes: Vec<Scope>,
    /// The token that let them in; none: they are on the machine itself.
    pub token_id: Option<i64>,
    /// The only collections that the token opens; none: it is not limited.
    limited_to: Option<Vec<i64>>,
    /// How they came in, for the audit log: `token NAME`, `session`, `command line (OS user NAME)`.
    pub(super) via: String,
    /// Where their requests come from; none: this machine, without a network in between.
    pub(super) address: Option<IpAddr>,
}

impl Actor {
    /// A user who was let in by a token.
    pub fn by_token(user: User, scopes: Vec<Scope>, token_id: i64) -> Self {
        Self {
            user_id: user.id,
            name: user.name,
            is_admin: user.is_admin,
            scopes,
            token_id: Some(token_id),
            limited_to: None,
            via: "session".to_owned(),
            address: None,
        }
    }

    /// The same with what the token says: its name, and the collections that it is limited to.
    #[must_use]
    pub(super) fn with_token(self, token: &Token) -> Self {
        let via = match token.token.kind {
            TokenKind::Api => format!("token {}", token.token.name),
            TokenKind::Feed => format!("feed token {}", token.token.name),
            TokenKind::Session if proxy_sign_in::is_session(token) => proxy_sign_in::VIA.to_owned(),
            TokenKind::Session | TokenKind::Link => self.via,
        };
        Self { limited_to: token.token.collection_ids.clone(), via, ..self }
    }

    /// The same from an address.
    #[must_use]
    pub fn at(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// Somebody on the machine itself, who can read the database anyway.
    pub fn local(user: User) -> Self {
        let scopes = vec![Scope::Read, Scope::Write];
        Self {
            user_id: user.id,
            name: user.name,
            is_admin: true,
            scopes,
            token_id: None,
            limited_to: None,
            via: format!("command line (OS user {})", os_user()),
            address: None,
        }
    }

    /// Whether a reverse proxy signed them in, whose word it depends on from request to request.
    pub fn is_by_proxy(&self) -> bool {
        self.via == proxy_sign_in::VIA
    }

    /// The only collections that the token opens; none: it is not limited.
    pub fn limited_to(&self) -> Option<&[i64]> {
        self.limited_to.as_deref()
    }

    /// Refuses a token that is limited to collections: what is asked for is in none.
    pub fn must_be_unlimited(&self) -> Result<(), ServiceError> {
        match &self.limited_to {
            None => Ok(()),
            Some(_) => Err(ServiceError::Forbidden(
                "this token is limited to collections, and this is not in one; use one that is not"
                    .to_owned(),
            )),
        }
    }

    /// What was granted, by name.
    pub fn scopes(&self) -> Vec<&'static str> {
        self.scopes.iter().map(|scope| scope.name()).collect()
    }

    /// Whether this is granted.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Refuses who may not do this.
    pub fn must(&self, scope: Scope) -> Result<(), ServiceError> {
        if self.has(scope) {
            return Ok(());
        }
        let scope = scope.name();
        Err(ServiceError::Forbidden(format!("this token does not grant '{scope}'; use one that does")))
    }

    /// Refuses who does not manage users.
    pub fn must_manage(&self) -> Result<(), ServiceError> {
        self.must(Scope::Write)?;
        self.must_be_unlimited()?;
        if self.is_admin {
            return Ok(());
        }
        Err(ServiceError::Forbidden(format!("{} is no admin, and only admins manage users", self.name)))
    }
}

/// The name of the user that runs this process, as the system knows it; its number where it has no name.
fn os_user() -> String {
    let named = || std::env::var("USER").ok().filter(|name| !name.is_empty());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if let Ok(uid) = std::fs::metadata("/proc/self").map(|process| process.uid()) {
            let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
            let mut lines = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
            let found = lines.find(|user| user.get(2).is_some_and(|id| *id == uid.to_string()));
            return found.map_or_else(|| uid.to_string(), |user| user[0].to_owned());
        }
    }
    named().unwrap_or_else(|| "unknown".to_owned())
}
