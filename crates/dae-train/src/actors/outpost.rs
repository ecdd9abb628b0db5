//! The outpost of a join or a gossip: begins and ends a child, on whatever node that is.

use super::alive::{Alive, silent};
use super::{
    AllReduceCoordinator, ChildState, Committed, End, Ended, Group, JoinCoordinator, Kept, Note, Recorder,
    Stop, Train,
};
use dae_actor::{
    Accepts, Actor, ActorRef, AskError, Body, Context, Handler, Message, Peer, Remote, Reply, ReplyTo,
};
use dae_collective::Broken;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// Longer than any run.
const EVER: Duration = Duration::from_secs(1 << 31);

/// One a child, on the child's node. The join's coordinator has it begin, and learns from it how the child ended. Where
/// the centre is on another node, what shards have to say comes in here as well, and so does the end of the run.
pub struct Outpost {
    group: Arc<Group>,
    coordinator: ActorRef<AllReduceCoordinator>,
    /// Where the child's first worker hears of the centre.
    notes: SyncSender<Note>,
    /// Steps the child has done before.
    steps: u64,
    centre: Option<Centre>,
    /// Who asked this node to stop before the centre had begun.
    stop: Option<Stop>,
    /// Whether the child has begun, and whether it has ended.
    begun: bool,
    ended: bool,
    /// Why the centre can no longer be reached.
    lost: Option<String>,
    done: Option<ReplyTo<End>>,
}

/// The centre of the join, where that is on another node.
#[derive(Clone)]
pub struct Centre {
    /// What people call that node.
    pub node: String,
    /// That node.
    pub peer: Peer,
    /// Who keeps the books there.
    pub coordinator: ActorRef<JoinCoordinator>,
    /// Who is told, on this node, of what is committed there.
    pub recorder: ActorRef<Recorder>,
}

impl Outpost {
    /// Of the child that this group is, which has done so many steps.
    pub fn new(
        group: Arc<Group>,
        coordinator: ActorRef<AllReduceCoordinator>,
        notes: SyncSender<Note>,
        steps: u64,
        centre: Option<Centre>,
    ) -> Self {
        let (stop, lost, done) = (None, None, None);
        Self { group, coordinator, notes, steps, centre, stop, begun: false, ended: false, lost, done }
    }

    /// The child ends: its first worker is told, and whoever waits for another hears of it.
    fn over(&self, cause: String) {
        let rank = self.group.first_rank();
        self.note(Note::Over(cause.clone()));
        self.group.arena.break_with(Broken::Left { rank, cause: format!("the run failed: {cause}") });
    }

    fn note(&self, note: Note) {
        // One that has gone away, or has been told before, need not hear it.
        drop(self.notes.try_send(note));
    }

    /// The centre has gone, and with it whoever could say how the run ended.
    fn gone(&mut self, why: &str) {
        let Some(Centre { node, .. }) = self.centre.as_ref().filter(|_| self.done.is_some()) else { return };
        if self.lost.is_none() {
            let cause = format!("node {node}, which has the centre of the join: {why}");
            self.over(cause.clone());
            self.lost = Some(cause);
            self.give_up();
        }
    }

    /// Ends without a word from the centre, once the child has ended.
    fn give_up(&mut self) {
        let (Some(cause), true) = (&self.lost, self.ended || !self.begun) else { return };
        let lost = self.centre.as_ref().map(|centre| centre.node.clone());
        let end =
            End { lost, ..End::failed(0, format!("{cause}; go on from the last checkpoint with --resume")) };
        if let Some(done) = self.done.take() {
            done.send(end);
        }
    }

    fn pass_on(&mut self) {
        if let (Some(centre), Some(stop)) = (&self.centre, self.stop.take())
            && let Err(e) = centre.coordinator.tell(stop)
        {
            tracing::warn!(cause = %e, "the request to stop did not reach the centre of the join");
        }
    }
}

impl Actor for Outpost {
    const KIND: &'static str = "outpost";
}

impl Remote for Outpost {
    fn accepts(list: &mut Accepts<Self>) {
        list.later::<Enter, ChildEnd>("enter")
            .message::<Note>("note")
            .message::<Committed>("committed")
            .message::<Verdict>("verdict")
            .message::<Alive>("alive");
    }
}

/// Has a child begin; answered once it has ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct Enter;

impl Message for Enter {
    type Reply = Reply<ChildEnd>;
}

impl Body for Enter {}

/// How a child ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildEnd {
    /// How.
    pub how: Ended,
    /// What it had come to, where that can be trusted.
    pub state: Option<ChildState>,
}

impl Body for ChildEnd {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        self.state.take_parts()
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        self.state.give_parts(parts)
    }
}

impl Handler<Enter> for Outpost {
    fn handle(&mut self, _: Enter, context: &mut Context<'_, Self>) -> Reply<ChildEnd> {
        let (ended, end_of_child) = dae_actor::reply(context.me().status().name());
        // It is told once; who asks again gets no answer.
        if !std::mem::replace(&mut self.begun, true) {
            let (done, end) = dae_actor::reply(self.coordinator.status().name());
            let told = self.coordinator.tell(Train { first: self.steps, done }).map_err(|e| e.to_string());
            let end = async move {
                told.map_err(|cause| End::failed(0, cause))?;
                end.within(EVER).await.map_err(|e: AskError| End::failed(0, e.to_string()))
            };
            context.spawn(end, move |me, end, _| {
                let End { how, snapshot, .. } = end.unwrap_or_else(|failed| failed);
                let snapshot = snapshot.and_then(Kept::into_snapshot);
                let state = snapshot.map(|snapshot| ChildState::new(snapshot, me.group.child.as_ref()));
                ended.send(ChildEnd { how, state });
                me.ended = true;
                me.give_up();
            });
            self.pass_on();
        }
        end_of_child
    }
}

impl Handler<Note> for Outpost {
    fn handle(&mut self, note: Note, _: &mut Context<'_, Self>) {
        match note {
            Note::Over(cause) => self.over(cause),
            Note::Part(_) | Note::Round { .. } | Note::Leave => self.note(note),
        }
    }
}

impl Handler<Committed> for Outpost {
    fn handle(&mut self, committed: Committed, _: &mut Context<'_, Self>) {
        if let Some(Centre { recorder, .. }) = &self.centre
            && let Err(e) = recorder.tell(committed)
        {
            tracing::warn!(cause = %e, "committed steps are not told on this node");
        }
    }
}

impl Handler<Alive> for Outpost {
    fn handle(&mut self, _: Alive, _: &mut Context<'_, Self>) {}
}

/// How the run ended, for those who do not write it down.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// How.
    pub how: Ended,
    /// Updates of the centre.
    pub step: u64,
    /// The loss of the last.
    pub loss: Option<f64>,
    /// The node whose loss is the cause, where that is all that is known.
    pub lost: Option<String>,
}

impl Message for Verdict {
    type Reply = ();
}

impl Body for Verdict {}

impl Handler<Verdict> for Outpost {
    fn handle(&mut self, verdict: Verdict, _: &mut Context<'_, Self>) {
        let Verdict { how, step, loss, lost } = verdict;
        if let Some(done) = self.done.take() {
            done.send(End { how, loss, lost, ..End::failed(step, String::new()) });
        }
    }
}

/// On a node without the centre: waits with its child for what comes from there.
impl Handler<Train> for Outpost {
    fn handle(&mut self, train: Train, context: &mut Context<'_, Self>) {
        let Some(Centre { peer, coordinator, .. }) = self.centre.clone() else { return };
        self.done = Some(train.done);
        context.spawn(async move { peer.closed().await }, |me, why, _| me.gone(&why));
        context.spawn(silent(coordinator, self.group.stall), |me, why, _| me.gone(&why));
    }
}

impl Handler<Stop> for Outpost {
    fn handle(&mut self, stop: Stop, _: &mut Context<'_, Self>) {
        self.stop.get_or_insert(stop);
        if self.begun {
            self.pass_on();
        }
    }
}
