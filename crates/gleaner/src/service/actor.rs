//! Who does something, and what they may do.

use super::ServiceError;
use crate::store::User;

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
}

impl Actor {
    /// A user who was let in by a token.
    pub fn by_token(user: User, scopes: Vec<Scope>, token_id: i64) -> Self {
        Self { user_id: user.id, name: user.name, is_admin: user.is_admin, scopes, token_id: Some(token_id) }
    }

    /// Somebody on the machine itself, who can read the database anyway.
    pub fn local(user: User) -> Self {
        let scopes = vec![Scope::Read, Scope::Write];
        Self { user_id: user.id, name: user.name, is_admin: true, scopes, token_id: None }
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
        if self.is_admin {
            return Ok(());
        }
        Err(ServiceError::Forbidden(format!("{} is no admin, and only admins manage users", self.name)))
    }
}
