//! Reads what comes over a link, and hands it to actors and to those that wait for answers.

use crate::Registry;
use crate::errand::Errand;
use crate::line::{Line, Outcome};
use crate::patience::Patience;
use crate::wire::{self, Incoming, Why};
use dae_net::{Frame, LinkReceiver};
use std::sync::Arc;

/// Reads until the link is over, and says why.
pub(crate) async fn read(line: &Arc<Line>, registry: &Registry, mut receiver: LinkReceiver) -> String {
    let peer = &line.peer;
    let mut patience = Patience::default();
    loop {
        let mut next = patience.next(&mut receiver).await;
        if let Ok(None) = next {
            return format!("{peer} ended the link");
        }
        // All that is in memory by now, before anything else runs.
        loop {
            let frame = match next {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => return format!("the link to {peer} broke: {error}"),
            };
            if let Err(why) = take(line, registry, frame).await {
                // The far side is told before the link ends, if it still listens.
                line.close(&why);
                return line.ended().await;
            }
            next = receiver.try_next();
        }
    }
}

/// Takes one frame; the error ends the link.
async fn take(line: &Arc<Line>, registry: &Registry, frame: Frame) -> Result<(), String> {
    let peer = &line.peer;
    let incoming = wire::read(frame).map_err(|why| format!("{peer} sent what cannot be read: {why}"))?;
    let (to, kind, letter, errand) = match incoming {
        Incoming::Tell { to, kind, letter } => {
            let errand = Errand::told(line, &letter);
            (to, kind, letter, errand)
        }
        Incoming::Ask { id, to, kind, deadline, letter } => {
            take_on(line, id).await?;
            let errand = Errand::asked(line, &letter, id, deadline);
            (to, kind, letter, errand)
        }
        Incoming::Watch { id, to } => {
            take_on(line, id).await?;
            match registry.find(&to) {
                Ok(actor) => line.watch(id, actor.status().clone()),
                Err(why) => line.answer(id, wire::failure(id, Why::Refused(why))),
            }
            return Ok(());
        }
        Incoming::Answer { id, letter } => return settled(line, id, Outcome::Answer(letter)),
        Incoming::Failure { id, why } => return settled(line, id, Outcome::Failure(why)),
        Incoming::Stopped { id, why } => return settled(line, id, Outcome::Stopped(why)),
        Incoming::Forget { id } => {
            line.let_go(id);
            return Ok(());
        }
        Incoming::Goodbye { why } => {
            line.end(format!("{peer} closed the link: {why}"));
            return Ok(());
        }
    };
    let actor = match (registry.find(&to), errand.has_room()) {
        (Ok(actor), Ok(())) => actor,
        (Err(why), _) | (_, Err(why)) => {
            errand.fail(Why::Refused(why));
            return Ok(());
        }
    };
    if actor.status().is_full() {
        // Many frames may come at once, before an actor on this thread had a turn.
        tokio::task::yield_now().await;
    }
    actor.deliver(&kind, letter, errand);
    Ok(())
}

async fn take_on(line: &Line, id: u64) -> Result<(), String> {
    if line.take_on(id).await {
        return Ok(());
    }
    Err(format!("{} asked twice under the number {id}", line.peer))
}

fn settled(line: &Line, id: u64, outcome: Outcome) -> Result<(), String> {
    line.settle(id, outcome);
    Ok(())
}
