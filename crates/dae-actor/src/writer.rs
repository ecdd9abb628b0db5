//! Writes what is queued for a link: all of it at a time, and then one flush.

use crate::line::Line;
use dae_net::{LinkError, LinkSender};

/// Writes until the link is closed or broken, and says why.
pub(crate) async fn write(line: &Line, mut sender: LinkSender) -> String {
    let broke = |error: LinkError| format!("nothing more can be written to {}: {error}", line.peer);
    let mut batch = Vec::new();
    loop {
        let closing = line.closing.borrow().clone();
        let answers = line.drain(&mut batch);
        if batch.is_empty() {
            match closing {
                // The farewell was queued with the reason, so it has been written.
                Some(why) => {
                    return sender
                        .close()
                        .await
                        .map_or_else(broke, |()| format!("closed on this side: {why}"));
                }
                None => line.to_write.notified().await,
            }
            continue;
        }
        for frame in batch.drain(..) {
            match sender.feed(&frame).await {
                Ok(()) => {}
                // The link allows less than this side does (`PeerLimits::frame`); it goes on without.
                Err(LinkError::Frame(why)) => tracing::error!(peer = line.peer, %why, "a message is lost"),
                Err(error) => return broke(error),
            }
        }
        if let Err(error) = sender.flush().await {
            return broke(error);
        }
        line.make_room(answers);
    }
}
