//! The API over real HTTP, on both databases.

mod access;
mod around;
mod audit;
pub(crate) mod client;
mod doors;
mod edits;
mod events;
mod feed_active;
mod feeds;
mod import;
mod input;
mod matrix;
mod polling;
mod posts;
mod private;
mod schemathesis;
mod sessions;
mod signs;
mod sources;
mod trouble;
mod webhooks;
mod workers;

/// Makes two tests of each, one a database.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test] async fn $name() { super::$name(crate::support::sqlite().await).await; })+
        }
        mod on_postgres {
            $(#[tokio::test] async fn $name() { super::$name(crate::support::postgres().await).await; })+
        }
    };
}
pub(crate) use on_both;
