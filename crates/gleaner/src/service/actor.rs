//! Who does something, and what they may do.

use std::net::IpAddr;

use gleaner_core::time::Time;

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
    pub user_id: i64,
    /// The user's name.
    pub name: String,
    /// Whether the user manages users.
    pub is_admin: bool,
    scopes: Vec<Scope>,
    /// The token that let them in; none: they are on the machine itself.
    pub token_id: Option<i64>,
    /// The session that the token is, or that made it.
    session_id: Option<i64>,
    /// When the session's user last proved who they are; none: it is no session.
    proved_at: Option<Time>,
    /// The only collections that the token opens; none: it is not limited.
    limited_to: Option<Vec<i64>>,
    /// How they came in, for the audit log: `token NAME`, `session`, `command line (OS user NAME)`.
    pub(super) via: String,
    /// Where their requests come from; none: this machine, without a network in between.
    pub(super) address: Option<IpAddr>,
}

impl Actor {
    /// A user who was let in by a token.
    pub(super) fn by_token(user: User, token: &Token) -> Self {
        let is_by_proxy = proxy_sign_in::is_session(token);
        let Token { id, token, .. } = token;
        let is_session = token.kind == TokenKind::Session;
        let via = match token.kind {
            TokenKind::Session if is_by_proxy => proxy_sign_in::VIA.to_owned(),
            TokenKind::Api => format!("token {}", token.name),
            TokenKind::Feed => format!("feed token {}", token.name),
            TokenKind::Session | TokenKind::Link => "session".to_owned(),
        };
        Self {
            user_id: user.id,
            name: user.name,
            is_admin: user.is_admin,
            scopes: Scope::parse_all(&token.scopes),
            token_id: Some(*id),
            session_id: if is_session { Some(*id) } else { token.made_by_session },
            // A session without a proof has the oldest one.
            proved_at: is_session.then(|| token.proved_at.unwrap_or(Time::from_millis(0))),
            limited_to: token.collection_ids.clone(),
            via,
            address: None,
        }
    }

    /// The session that the caller came in by; none: it is another token, or the command line.
    pub(super) fn own_session(&self) -> Option<i64> {
        self.proved_at.and(self.token_id)
    }

    /// The session that the token is, or that made it.
    pub(super) const fn session_id(&self) -> Option<i64> {
        self.session_id
    }

    /// When the session's user last proved who they are; none: it is no session.
    pub(super) const fn proved_at(&self) -> Option<Time> {
        self.proved_at
    }

    #[must_use]
    pub(super) fn proved(self, at: Time) -> Self {
        Self { proved_at: Some(at), ..self }
    }

    /// Whether the same may be seen and done, by the same user.
    pub(super) fn has_same_access(&self, other: &Self) -> bool {
        let access =
            |actor: &Self| (actor.user_id, actor.is_admin, actor.scopes.clone(), actor.limited_to.clone());
        access(self) == access(other)
    }

    /// The same from an address.
    #[must_use]
    pub fn at(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// A user who is being signed in and has no token yet; may do nothing.
    pub(super) fn without_token(user: User, via: &str) -> Self {
        let is_admin = user.is_admin;
        Self { is_admin, scopes: Vec::new(), via: via.to_owned(), ..Self::local(user) }
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
            session_id: None,
            proved_at: None,
            limited_to: None,
            via: via_command_line(),
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

/// How somebody at the machine came in, for the audit log.
pub(super) fn via_command_line() -> String {
    format!("command line (OS user {})", os_user())
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
