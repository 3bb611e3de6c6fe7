//! Many sources, few of them due: a thousand each minute, unchanged, among however many there are.

use gleaner::clock::Clock as _;
use gleaner::store::Store;
use gleaner_core::time::{Span, Time};

use crate::Failed;
use crate::child::{Counts, Program};
use crate::subject::{Gleaner, begin, source};

/// How many are due each minute.
pub(crate) const DUE: usize = 1000;
/// How many minutes a round has.
pub(crate) const MINUTES: usize = 10;

/// The default interval of a source.
const INTERVAL: u64 = 30;

pub(crate) struct Due {
    gleaner: Gleaner,
    /// Sources that are due in turn, [`DUE`] in each.
    groups: usize,
    /// How often one of them had its turn.
    turns: usize,
}

impl Due {
    /// So many sources. Those of the farm lie scattered among the others, which are due after the end of all this;
    /// each was polled once.
    pub(crate) async fn open(urls: &[String], database: &str, sources: usize) -> Result<Self, Failed> {
        let groups = (sources / DUE).min(MINUTES);
        let urls = urls.get(..groups * DUE).ok_or("the farm has too few feeds")?;
        let every = sources / urls.len();
        let gleaner = Gleaner::create(database).await?;
        let all = (0..sources).map(|n| match urls.get(n / every).filter(|_| n.is_multiple_of(every)) {
            Some(url) => source(url, begin() + Span::from_mins((n / every % groups) as u64)),
            None => source(&format!("http://h{n}.example/feed"), begin() + Span::from_days(300)),
        });
        gleaner.add(all).await?;
        let mut due = Self { gleaner, groups, turns: 0 };
        for _ in 0..groups {
            due.turn().await?;
        }
        Ok(due)
    }

    /// The next group in its minute.
    async fn turn(&mut self) -> Result<(), Failed> {
        self.advance();
        self.poll().await
    }

    /// The next group's minute comes.
    pub(crate) fn advance(&mut self) {
        let (pass, group) = (self.turns / self.groups, self.turns % self.groups);
        self.turns += 1;
        self.gleaner.clock.set(begin() + Span::from_mins(INTERVAL * pass as u64 + group as u64));
    }

    /// Polls the group whose minute it is.
    pub(crate) async fn poll(&mut self) -> Result<(), Failed> {
        self.gleaner.poll(DUE).await
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.gleaner.store
    }

    pub(crate) fn now(&self) -> Time {
        self.gleaner.clock.now()
    }
}

impl Program for Due {
    async fn round(&mut self) -> Result<(), Failed> {
        for _ in 0..MINUTES {
            self.turn().await?;
        }
        Ok(())
    }

    async fn counts(&self) -> Result<Counts, Failed> {
        self.gleaner.counts().await
    }
}
