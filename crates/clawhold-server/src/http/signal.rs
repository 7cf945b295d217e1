//! Waking those who wait for one thing: a stream's next event, a role's next grant.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

type Waited<K> = Arc<Mutex<BTreeMap<K, watch::Sender<()>>>>;

/// Everything that somebody waits for, each under its key.
#[derive(Debug)]
pub(super) struct Signals<K: Ord> {
    waited: Waited<K>,
}

/// One that waits; it is forgotten when dropped.
#[derive(Debug)]
pub(super) struct Signal<K: Ord> {
    key: K,
    woken: watch::Receiver<()>,
    waited: Waited<K>,
}

/// How long one waits.
pub(super) struct Patience(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Patience {
    /// Returns a patience that ends after `duration`.
    pub(super) fn of(duration: Duration) -> Self {
        Self(Box::pin(crate::clock::pause(duration)))
    }

    /// Waits for `event`; `false` when patience ended before.
    pub(super) async fn lasts_for<T>(&mut self, event: impl Future<Output = T>) -> bool {
        tokio::select! {
            _ = event => true,
            () = &mut self.0 => false,
        }
    }
}

impl<K: Ord> Default for Signals<K> {
    fn default() -> Self {
        Self { waited: Arc::default() }
    }
}

impl<K: Ord + Clone> Signals<K> {
    /// Enlists one that waits for `key`. What happens from here on is not missed.
    pub(super) fn wait_for(&self, key: K) -> Signal<K> {
        let mut waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = waited.entry(key.clone()).or_default();
        Signal { key, woken: sender.subscribe(), waited: Arc::clone(&self.waited) }
    }

    /// Wakes all that wait for `key`.
    pub(super) fn wake(&self, key: &K) {
        let waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = waited.get(key) {
            sender.send_replace(());
        }
    }

    /// Wakes all.
    pub(super) fn wake_all(&self) {
        let waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        for sender in waited.values() {
            sender.send_replace(());
        }
    }
}

impl<K: Ord> Signal<K> {
    /// Forgets wakes up to here: what they were about is looked at next.
    pub(super) fn about_to_look(&mut self) {
        self.woken.mark_unchanged();
    }

    /// Waits until it is woken, since it was last about to look; `false` when `patience` ended
    /// before.
    pub(super) async fn woken(&mut self, patience: &mut Patience) -> bool {
        tokio::select! {
            // The sender lives as long as somebody waits: an error cannot be, and would end it.
            woken = self.woken.changed() => woken.is_ok(),
            () = &mut patience.0 => false,
        }
    }
}

impl<K: Ord> Drop for Signal<K> {
    fn drop(&mut self) {
        let mut waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = waited.get(&self.key).is_some_and(|sender| sender.receiver_count() <= 1);
        if is_last {
            waited.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_that_waits_is_woken_for_its_own_thing_and_forgotten_after() {
        let signals: Signals<u32> = Signals::default();
        let mut signal = signals.wait_for(7);
        let mut patience = Patience::of(Duration::from_millis(1));
        signals.wake(&8);
        assert!(!signal.woken(&mut patience).await);
        let mut patience = Patience::of(Duration::from_secs(60));
        signal.about_to_look();
        signals.wake(&7);
        assert!(signal.woken(&mut patience).await);
        let other = signals.wait_for(7);
        drop(signal);
        assert_eq!(signals.waited.lock().unwrap().len(), 1);
        drop(other);
        assert!(signals.waited.lock().unwrap().is_empty());
    }
}
