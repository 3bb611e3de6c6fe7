//! One test a scenario, of the scenario's name, on both databases: the real engine, a real HTTP server on loopback,
//! a real resolver, and a clock that stands still until it is set.

mod api_client;
mod article_pages;
mod backfill;
mod backoff;
mod bot_walls;
mod changes;
mod classes;
mod cooldown;
mod credentials;
mod elsewhere;
mod facts;
mod filters;
mod identity;
mod judgement;
mod kinds;
mod pages;
mod politeness;
mod posts;
mod quarantine;
mod robots;
mod schedule;
mod shown_status;
mod signs;
mod trouble;
mod world;
mod x;
mod x_pages;

/// Makes two tests of each scenario, one a database.
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
use on_both;

/// The same, and two more in which three siblings on the same host answer as each source does.
macro_rules! on_both_with_siblings {
    ($($name:ident),+ $(,)?) => {
        super::on_both!($($name),+);
        mod with_siblings_on_sqlite {
            $(#[tokio::test] async fn $name() {
                super::$name(crate::support::sqlite().await.with_siblings(3)).await;
            })+
        }
        mod with_siblings_on_postgres {
            $(#[tokio::test] async fn $name() {
                super::$name(crate::support::postgres().await.with_siblings(3)).await;
            })+
        }
    };
}
use on_both_with_siblings;
