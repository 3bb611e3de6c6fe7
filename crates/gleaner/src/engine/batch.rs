//! Many small wishes, few large deeds: what comes while one batch is under way makes the next.
//!
//! No timer: a lone wish is granted at once, and under load batches grow by themselves.

use std::future::Future;

use tokio::sync::{mpsc, oneshot};

/// A worker that is handed items and works on whatever has gathered.
pub(super) struct Batcher<I, O> {
    sender: mpsc::Sender<(I, oneshot::Sender<O>)>,
}

impl<I: Send + 'static, O: Send + 'static> Batcher<I, O> {
    /// Starts the worker; `run` gets up to `most` items and answers each in order.
    pub(super) fn start<F, R>(most: usize, run: F) -> Self
    where
        F: Fn(Vec<I>) -> R + Send + 'static,
        R: Future<Output = Vec<O>> + Send,
    {
        let (sender, mut receiver) = mpsc::channel::<(I, oneshot::Sender<O>)>(2 * most);
        tokio::spawn(async move {
            let mut gathered = Vec::with_capacity(most);
            while receiver.recv_many(&mut gathered, most).await > 0 {
                let (items, answers): (Vec<I>, Vec<_>) = gathered.drain(..).unzip();
                for (answer, output) in answers.into_iter().zip(run(items).await) {
                    // Who asked may be gone; the deed is done all the same.
                    let _ = answer.send(output);
                }
            }
        });
        Self { sender }
    }

    /// Hands an item over; its answer comes later. Items are worked on in the order in which they are handed over. None
    /// where the worker has died.
    pub(super) async fn hand_over(&self, item: I) -> Option<oneshot::Receiver<O>> {
        let (answer, answered) = oneshot::channel();
        self.sender.send((item, answer)).await.ok()?;
        Some(answered)
    }

    /// Hands an item over and waits for its answer; none where the worker has died.
    pub(super) async fn submit(&self, item: I) -> Option<O> {
        self.hand_over(item).await?.await.ok()
    }
}
