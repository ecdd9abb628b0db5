//! The far end of a link, with its actors.

use crate::accepts::Accepts;
use crate::line::Line;
use crate::there::There;
use crate::{ActorRef, PeerLimits, Registry, Remote, reader, writer};
use dae_net::{Link, PeerInfo};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long the writing of what is queued may take once a link is closed knowingly.
const FAREWELL: Duration = Duration::from_secs(1);

/// Another node, or program, that actors of this one talk to over a link. Cheap to clone, for any thread; the link
/// lives until one of both sides closes it, whether anybody has a `Peer` or not.
#[derive(Clone, Debug)]
pub struct Peer {
    line: Arc<Line>,
    info: Arc<PeerInfo>,
}

impl Peer {
    /// Talks over `link`: serves the actors of `registry` to the far side, and reaches those that it serves. Reading
    /// and writing happen on the current thread, so that its shared actors are reached without a hop to another.
    ///
    /// # Panics
    /// Outside of [`crate::System::run`] and of the threads of its actors.
    pub fn over(link: Link, registry: Registry) -> Self {
        Self::with_limits(link, registry, PeerLimits::default())
    }

    /// As [`Peer::over`], with other bounds.
    ///
    /// # Panics
    /// As [`Peer::over`].
    pub fn with_limits(link: Link, registry: Registry, limits: PeerLimits) -> Self {
        let Link { peer, sender, receiver } = link;
        let line = Line::new(peer.hello.name.clone(), limits);
        let (reading, writing) = (line.clone(), line.clone());
        let last = || EndsWith(line.clone());
        actix::spawn(until_over(last(), async move { reader::read(&reading, &registry, receiver).await }));
        actix::spawn(until_over(last(), async move { writer::write(&writing, sender).await }));
        Self { line, info: Arc::new(peer) }
    }

    /// A reference to the actor that is published there by this name. Whether there is one, an ask will tell.
    pub fn actor<A: Remote>(&self, name: impl Into<String>) -> ActorRef<A> {
        ActorRef::there(There::new(self.line.clone(), name.into(), Accepts::<A>::of().codecs()))
    }

    /// Who the far side proved to be.
    pub fn info(&self) -> &PeerInfo {
        &self.info
    }

    /// Bytes of the raw parts ([`Body::take_parts`](crate::Body::take_parts)) beside all that this side has sent, or will once it
    /// is written.
    pub fn bulk_bytes(&self) -> u64 {
        self.line.bulk.load(Ordering::Relaxed)
    }

    /// Waits until the link has ended, and says why.
    pub async fn closed(&self) -> String {
        self.line.ended().await
    }

    /// Why the link ended, if it has.
    pub fn why_closed(&self) -> Option<String> {
        self.line.has_ended()
    }

    /// Ends the link once what is queued is written, which may take a second at most. The far side is told why.
    pub fn close(&self, why: &str) {
        self.line.close(why);
    }
}

/// Runs one of the link's two tasks until it says why the link is over, or somebody else does.
async fn until_over(last: EndsWith, task: impl Future<Output = String>) {
    let line = &last.0;
    let mut closing = line.closing.subscribe();
    let farewell = async {
        // The other end of the channel is in the line, which is held here.
        drop(closing.wait_for(Option::is_some).await);
        tokio::time::sleep_until(tokio::time::Instant::now() + FAREWELL).await;
    };
    tokio::select! {
        biased;
        why = task => line.end(why),
        _ = line.ended() => {}
        () = farewell => line.end(format!("closed on this side, and {} took no farewell", line.peer)),
    }
}

/// The thread may end under a task of the link, or before its first turn.
struct EndsWith(Arc<Line>);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.end("the thread that served the link ended".into());
    }
}
