//! Whether an actor on another node still answers.

use dae_actor::{Actor, ActorRef, Handler, Message};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Asks for a sign of life.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Alive;

impl Message for Alive {
    type Reply = ();
}

impl dae_actor::Body for Alive {}

/// Waits until an actor gives no sign of life for so long, and says why. A link that ends is felt at once, by all that
/// waits for it; a machine that stands still is felt only so.
pub(super) async fn silent<A: Actor + Handler<Alive>>(actor: ActorRef<A>, patience: Duration) -> String {
    loop {
        sleep_until(Instant::now() + patience).await;
        if let Err(e) = actor.ask(Alive, patience).await {
            return e.to_string();
        }
    }
}
