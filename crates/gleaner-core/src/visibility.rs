//! Who may see a collection and all that is in it, and who may change the collection itself.

/// What decides about access to a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectionAccess {
    /// The collection.
    pub id: i64,
    /// The user who owns it.
    pub owner_id: i64,
    /// Seen by its owner and admins only.
    pub private: bool,
}

/// Somebody who asks for a collection or something in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer<'a> {
    /// The user.
    pub user_id: i64,
    /// Whether the user is an admin.
    pub is_admin: bool,
    /// The only collections that their token opens; none: it is not limited.
    pub limited_to: Option<&'a [i64]>,
}

impl Viewer<'_> {
    /// Whether the collection, its sources, posts and events are shown to them. Who sees a collection and may write,
    /// may change the sources in it.
    pub fn may_see(&self, collection: CollectionAccess) -> bool {
        let opened = self.limited_to.is_none_or(|ids| ids.contains(&collection.id));
        opened && (!collection.private || self.is_admin || self.user_id == collection.owner_id)
    }

    /// Whether they may rename, transfer, hide or delete the collection. A limited token is for what is in it.
    pub fn may_manage(&self, collection: CollectionAccess) -> bool {
        self.limited_to.is_none() && (self.is_admin || self.user_id == collection.owner_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: CollectionAccess = CollectionAccess { id: 1, owner_id: 7, private: false };
    const PRIVATE: CollectionAccess = CollectionAccess { id: 2, owner_id: 7, private: true };
    const OWNER: Viewer<'_> = Viewer { user_id: 7, is_admin: false, limited_to: None };
    const OTHER: Viewer<'_> = Viewer { user_id: 8, is_admin: false, limited_to: None };
    const ADMIN: Viewer<'_> = Viewer { user_id: 9, is_admin: true, limited_to: None };

    #[test]
    fn a_private_collection_is_seen_by_its_owner_and_admins() {
        let seen = |viewer: Viewer<'_>| [SHARED, PRIVATE].map(|collection| viewer.may_see(collection));
        assert_eq!(seen(OWNER), [true, true]);
        assert_eq!(seen(OTHER), [true, false]);
        assert_eq!(seen(ADMIN), [true, true]);
    }

    #[test]
    fn a_collection_is_managed_by_its_owner_and_admins() {
        for collection in [SHARED, PRIVATE] {
            assert!(OWNER.may_manage(collection) && ADMIN.may_manage(collection));
            assert!(!OTHER.may_manage(collection));
        }
    }

    #[test]
    fn a_limited_token_opens_no_more_than_its_collections_and_its_user_may() {
        let limited = |viewer, ids| Viewer { limited_to: Some(ids), ..viewer };
        assert!(limited(OWNER, &[2]).may_see(PRIVATE));
        assert!(!limited(OWNER, &[2]).may_see(SHARED));
        assert!(!limited(OTHER, &[2]).may_see(PRIVATE), "a limit grants nothing");
        assert!(!limited(ADMIN, &[1]).may_see(PRIVATE), "nor does it leave an admin everything");
        assert!(!limited(OWNER, &[]).may_see(SHARED));
        assert!(!limited(OWNER, &[2]).may_manage(PRIVATE) && !limited(ADMIN, &[2]).may_manage(PRIVATE));
    }
}
