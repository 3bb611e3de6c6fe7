//! One test a scenario, of the scenario's name, on both databases: the real engine, a real HTTP server on loopback,
//! a real resolver, and a clock that stands still until it is set.

mod backoff;
mod changes;
mod classes;
mod cooldown;
mod credentials;
mod elsewhere;
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
