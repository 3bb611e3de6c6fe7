//! Many sources, few of them due: a thousand each minute, unchanged, among any number of others.

use gleaner::clock::Clock as _;
use gleaner::store::Store;
use gleaner_core::time::{Span, Time};

use crate::Error;
use crate::child::{Counts, Program};
use crate::gleaner_program::{Gleaner, begin, source};

/// Sources that are due each minute.
pub(crate) const DUE: usize = 1000;
/// Minutes per round.
pub(crate) const MINUTES: usize = 10;

/// The default polling interval in minutes.
const INTERVAL: u64 = 30;

pub(crate) struct Due {
    gleaner: Gleaner,
    /// Groups of sources that are due in turn, [`DUE`] in each.
    groups: usize,
    /// The number of groups polled so far.
    turns: usize,
}

impl Due {
    /// Creates the sources. Those of the farm are spread among the others, which are due after the end of the run;
    /// each is polled once.
    pub(crate) async fn open(urls: &[String], database: &str, sources: usize) -> Result<Self, Error> {
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

    /// Polls the next group.
    async fn turn(&mut self) -> Result<(), Error> {
        self.advance();
        self.poll().await
    }

    /// Advances the clock to the next group's minute.
    pub(crate) fn advance(&mut self) {
        let (pass, group) = (self.turns / self.groups, self.turns % self.groups);
        self.turns += 1;
        self.gleaner.clock.set(begin() + Span::from_mins(INTERVAL * pass as u64 + group as u64));
    }

    /// Polls the group that is due.
    pub(crate) async fn poll(&mut self) -> Result<(), Error> {
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
    async fn round(&mut self) -> Result<(), Error> {
        for _ in 0..MINUTES {
            self.turn().await?;
        }
        Ok(())
    }

    async fn counts(&self) -> Result<Counts, Error> {
        self.gleaner.counts().await
    }
}
