//! The join coordinator: keeps the books of a join or a gossip, and says to all who belong to it what follows.

use super::alive::{Alive, silent};
use super::copying::{Copying, together};
use super::outpost::{ChildEnd, Enter, Verdict};
use super::parameter_server::Shown;
use super::told::Told;
use super::{ChildState, End, Ended, Middle, Note, Outpost, Recorder, StepRecord, Stop, Train};
use crate::centre::{Arrival, Order, Turns};
use crate::gossip::Books;
use crate::topology::LearningRate;
use dae_actor::{Accepts, Actor, ActorRef, AskError, Body, Context, Handler, Message, Remote, ReplyTo};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Longer than any run.
const EVER: Duration = Duration::from_secs(1 << 31);
/// By when another node has heard how the run ended.
const HEARD_BY: Duration = Duration::from_secs(10);

/// What a join or a gossip goes by, the same for as long as it runs.
#[derive(Debug, Clone)]
pub struct JoinFacts {
    /// The step, counted from 0, that a version is made of, as the mean over the children: so many steps each version.
    pub steps_a_version: f64,
    /// Steps each child does at most.
    pub horizon: u64,
    /// The learning rate as a function of the step.
    pub learning_rate: LearningRate,
    /// The learning rate at a factor of 1, for reports.
    pub base_rate: f32,
    /// Whether it is the outer rate that follows it: with `step raw`.
    pub outer: bool,
    /// Samples that had gone into the centre before.
    pub samples: u64,
    /// How many versions the centre had had before.
    pub version: u64,
    /// The workers of all children.
    pub workers: usize,
    /// How long those who need not compute may take to answer.
    pub stall: Duration,
    /// When fragments are due, where they travel by themselves.
    pub turns: Option<Turns>,
}

impl JoinFacts {
    /// The factor of the learning rate in the update that makes this version.
    fn factor(&self, version: u64) -> f32 {
        let step = (version.saturating_sub(1) as f64 * self.steps_a_version) as u64;
        self.learning_rate.factor(step, self.horizon)
    }
}

/// A child, as the coordinator knows it.
#[derive(Clone)]
pub struct JoinChild {
    /// Who begins and ends it.
    pub outpost: ActorRef<Outpost>,
    /// What people call its node, if that is another.
    pub node: Option<String>,
    /// The rank of its first worker.
    pub first_rank: usize,
}

/// Control only: numbers go between children and shards. It begins the children, and ends with them.
pub struct JoinCoordinator {
    facts: JoinFacts,
    ledger: Books,
    children: Vec<JoinChild>,
    middle: Middle,
    recorder: ActorRef<Recorder>,
    told: Told,
    samples: u64,
    loss: Option<f64>,
    /// When each child pushed, while it waits.
    pushed: Vec<Option<Instant>>,
    copying: Option<Copying>,
    /// Fragments have begun to take turns.
    streams: bool,
    ends: Vec<Option<Ended>>,
    left: Vec<Option<Arc<ChildState>>>,
    /// All children have ended, and all they pushed is taken up.
    concluded: bool,
    stop: Option<String>,
    /// The first cause, and the node whose loss it is, where that is all that is known.
    failed: Option<(String, Option<String>)>,
    done: Option<ReplyTo<End>>,
}

impl JoinCoordinator {
    /// A coordinator of these children around what they have between them.
    pub fn new(
        facts: JoinFacts,
        ledger: Books,
        children: Vec<JoinChild>,
        middle: Middle,
        recorder: ActorRef<Recorder>,
    ) -> Self {
        Self {
            told: Told::new(Some(recorder.clone()), facts.workers, facts.version),
            recorder,
            samples: facts.samples,
            loss: None,
            pushed: none_of(&children),
            copying: None,
            streams: false,
            ends: none_of(&children),
            left: none_of(&children),
            concluded: false,
            stop: None,
            failed: None,
            done: None,
            facts,
            ledger,
            middle,
            children,
        }
    }

    fn perform(&mut self, orders: Vec<Order>, context: &mut Context<'_, Self>) {
        self.told.taken(self.ledger.taken());
        let mut begun = vec![];
        for order in orders {
            if self.failed.is_some() {
                return;
            }
            match order {
                Order::Begin { child, round } => {
                    if let Some(since) = self.pushed[child].take() {
                        self.ledger.tally_mut().waited(child, since.elapsed());
                    }
                    let copy = self.copying.as_mut().is_some_and(|copying| copying.ask(child));
                    match self.facts.turns {
                        None => self.order(|middle| middle.serve(child, round, copy)),
                        Some(_) => begun.push((child, round, copy)),
                    }
                }
                Order::Fire { version, given } => self.fire(version, &given),
                Order::Mix(mix) => self.order(|middle| middle.mix(mix)),
                Order::Drop { child, .. } => self.order(|middle| middle.forget(child)),
                Order::Leave { child } => self.note(child, Note::Leave),
                Order::Quiet => {
                    self.copy(context);
                    let orders = self.ledger.release();
                    self.perform(orders, context);
                }
            }
        }
        if let (Some(turns), false) = (self.facts.turns, begun.is_empty()) {
            self.go_ahead(turns, &begun);
        }
    }

    /// Begins a round in which fragments take turns. Who takes part in it is known, so all servers are told at once what
    /// they are to do when its pushes have come.
    fn go_ahead(&mut self, turns: Turns, begun: &[(usize, u64, bool)]) {
        let first = !std::mem::replace(&mut self.streams, true);
        self.order(|middle| middle.take_turns(turns, begun, first));
        for &(child, round, copy) in begun {
            self.note(child, Note::Round { round, copy });
        }
    }

    fn fire(&mut self, version: u64, given: &[Arrival]) {
        let factor = self.facts.factor(version);
        let rate = if self.facts.outer { factor } else { 1.0 };
        // Where fragments take turns they have moved, or will once the last push is there.
        if self.facts.turns.is_none() {
            self.order(|middle| middle.fire(rate, version, given));
        }
        let samples: u64 = given.iter().map(|each| each.samples).sum();
        let loss = given.iter().map(|each| each.loss).sum::<f64>() / samples as f64;
        self.samples += samples;
        self.loss = Some(loss);
        // All waited for who came last.
        let last = given.iter().filter_map(|each| Some((self.pushed[each.child]?, each.child))).max();
        let slowest = last.map_or(0, |(_, child)| self.children[child].first_rank);
        let record =
            StepRecord { step: version, loss, samples: self.samples, lr: self.facts.base_rate * factor };
        self.told.step(record, samples as f64, slowest);
    }

    fn order(&mut self, order: impl FnOnce(&Middle) -> Result<(), String>) {
        if let Err(cause) = order(&self.middle) {
            self.fail(cause, None);
        }
    }

    fn note(&self, child: usize, note: Note) {
        // One that has gone away need not hear it.
        drop(self.children[child].outpost.tell(note));
    }

    /// Everybody ends; the first cause counts.
    fn fail(&mut self, cause: String, lost: Option<String>) {
        if self.failed.is_none() {
            (0..self.children.len()).for_each(|child| self.note(child, Note::Over(cause.clone())));
            self.failed = Some((cause, lost));
        }
    }

    /// Asks what all has come to, and then goes on with it.
    fn shown(
        &self,
        context: &mut Context<'_, Self>,
        then: impl FnOnce(&mut Self, Result<Vec<Shown>, String>, &mut Context<'_, Self>) + 'static,
    ) {
        context.spawn(self.middle.shown(self.facts.stall), then);
    }

    /// Begins a checkpoint: nobody is under way.
    fn copy(&mut self, context: &mut Context<'_, Self>) {
        let version = self.ledger.version();
        if self.copying.is_some() {
            return self.told.no_room(version);
        }
        self.copying = Some(Copying::new(version, self.samples, self.loss, self.children.len()));
        self.shown(context, |me, shown, _| {
            if let Some(copying) = &mut me.copying {
                copying.show(shown);
            }
            me.copied();
        });
    }

    /// Hands a checkpoint on, once all parts of it are there.
    fn copied(&mut self) {
        let whole = |copying: &mut Copying| copying.complete(&self.left);
        let Some(copying) = self.copying.take_if(whole) else { return };
        let (version, loss) = (copying.version, copying.loss);
        self.told.keep(copying.kept(), version, loss);
    }

    /// A child has ended, or cannot be reached.
    fn ended(&mut self, child: usize, end: Result<ChildEnd, String>, context: &mut Context<'_, Self>) {
        if self.ends[child].is_some() {
            return;
        }
        let node = self.children[child].node.clone();
        let how = match end {
            Ok(ChildEnd { how, state }) => {
                self.left[child] = state.map(Arc::new);
                if let Ended::Failed(cause) = &how {
                    self.fail(cause.clone(), None);
                }
                how
            }
            Err(cause) => {
                let again = "go on from the last checkpoint with --resume";
                let cause = node
                    .as_ref()
                    .map_or_else(|| cause.clone(), |node| format!("node {node}: {cause}; {again}"));
                self.fail(cause.clone(), node);
                Ended::Failed(cause)
            }
        };
        self.ends[child] = Some(how);
        self.copied();
        self.conclude(context);
        if !self.concluded && self.ends.iter().all(Option::is_some) {
            let by = tokio::time::Instant::now() + self.facts.stall;
            context.spawn(tokio::time::sleep_until(by), |me, (), context| {
                if !me.concluded {
                    me.fail(
                        "its children have ended, and not all that they pushed last has come".into(),
                        None,
                    );
                    me.conclude(context);
                }
            });
        }
    }

    /// Ends the run once all children have. A child's end may overtake the word of its last push, and without that push the
    /// shards have not come to what they are to show.
    fn conclude(&mut self, context: &mut Context<'_, Self>) {
        if self.concluded || self.ends.iter().any(Option::is_none) {
            return;
        }
        if let Some((cause, _)) = self.failed.clone() {
            self.concluded = true;
            self.end(Err(cause), context);
        } else if self.ledger.through() {
            self.concluded = true;
            self.shown(context, |me, shown, context| me.end(shown, context));
        }
    }

    /// All children have ended: other nodes are told how the run did, and then this one is over.
    fn end(&mut self, shown: Result<Vec<Shown>, String>, context: &mut Context<'_, Self>) {
        self.told.rest();
        let step = self.ledger.version();
        let short = |end: &Ended| !matches!(end, Ended::Finished);
        let how = match (&self.failed, &shown) {
            (Some((cause, _)), _) | (None, Err(cause)) => Ended::Failed(cause.clone()),
            (None, Ok(shown)) if shown.iter().any(|shard| !shard.finite) => {
                Ended::Failed("what the children have come to together is not finite".into())
            }
            _ if self.ends.iter().flatten().any(short) => {
                Ended::Stopped(self.stop.take().unwrap_or_else(|| "its children left".into()))
            }
            _ => Ended::Finished,
        };
        let left = std::mem::take(&mut self.left);
        let snapshot = match (&how, shown) {
            (Ended::Failed(_), _) | (_, Err(_)) => None,
            (_, Ok(shown)) => Some(together(step, self.samples, shown, left)),
        };
        let (loss, pace, lost) =
            (self.loss, self.told.pace(), self.failed.clone().and_then(|(_, lost)| lost));
        let tally = Some(self.ledger.tally().clone());
        let verdict = Verdict { how: how.clone(), step, loss, lost: lost.clone() };
        let end = End { how, step, loss, snapshot, pace, restarts: 0, lost, tally };
        let away = self.children.iter().filter(|child| child.node.is_some());
        let outposts: Vec<_> = away.map(|child| child.outpost.clone()).collect();
        let (recorder, done) = (self.recorder.clone(), self.done.take());
        let all = async move {
            // The last steps go before it; a node that is lost hears neither.
            drop(recorder.ask(Alive, HEARD_BY).await);
            let mut told = JoinSet::new();
            for outpost in outposts {
                let verdict = verdict.clone();
                told.spawn_local(async move { outpost.ask(verdict, HEARD_BY).await });
            }
            while told.join_next().await.is_some() {}
        };
        context.spawn(all, move |_, (), _| {
            if let Some(done) = done {
                done.send(end);
            }
        });
    }
}

fn none_of<T>(children: &[JoinChild]) -> Vec<Option<T>> {
    children.iter().map(|_| None).collect()
}

impl Actor for JoinCoordinator {
    const KIND: &'static str = "join-coordinator";
}

impl Remote for JoinCoordinator {
    fn accepts(list: &mut Accepts<Self>) {
        list.message::<Arrival>("arrival")
            .message::<Inner>("inner")
            .message::<Stop>("stop")
            .message::<Alive>("alive");
    }
}

impl Handler<Train> for JoinCoordinator {
    fn handle(&mut self, train: Train, context: &mut Context<'_, Self>) {
        self.done = Some(train.done);
        for (index, JoinChild { outpost, node, .. }) in self.children.clone().into_iter().enumerate() {
            if node.is_some() {
                let silent = silent(outpost.clone(), self.facts.stall);
                context.spawn(silent, move |me, why, context| me.ended(index, Err(why), context));
            }
            let end = async move { outpost.ask(Enter, EVER).await?.within(EVER).await };
            context.spawn(end, move |me, end: Result<_, AskError>, context| {
                me.ended(index, end.map_err(|e| e.to_string()), context);
            });
        }
        for end in self.middle.ends() {
            context.spawn(end, |me, cause, context| {
                me.fail(cause, None);
                me.conclude(context);
            });
        }
        let orders = self.ledger.begin();
        self.perform(orders, context);
    }
}

impl Message for Arrival {
    type Reply = ();
}

impl Body for Arrival {}

impl Handler<Arrival> for JoinCoordinator {
    fn handle(&mut self, arrival: Arrival, context: &mut Context<'_, Self>) {
        if let Some(pushed) = self.pushed.get_mut(arrival.child) {
            pushed.get_or_insert_with(Instant::now);
        }
        let orders = self.ledger.arrive(arrival);
        self.perform(orders, context);
        self.conclude(context);
    }
}

impl Handler<Alive> for JoinCoordinator {
    fn handle(&mut self, _: Alive, _: &mut Context<'_, Self>) {}
}

/// A child has copied its state, for a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inner {
    /// Which child.
    pub child: usize,
    /// The copy, if there was room for it.
    pub copy: Option<ChildState>,
}

impl Message for Inner {
    type Reply = ();
}

impl Body for Inner {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        self.copy.take_parts()
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        self.copy.give_parts(parts)
    }
}

impl Handler<Inner> for JoinCoordinator {
    fn handle(&mut self, Inner { child, copy }: Inner, _: &mut Context<'_, Self>) {
        if let Some(copying) = &mut self.copying {
            copying.take(child, copy);
        }
        self.copied();
    }
}

impl Handler<Stop> for JoinCoordinator {
    fn handle(&mut self, stop: Stop, context: &mut Context<'_, Self>) {
        self.stop.get_or_insert(stop.why);
        let orders = self.ledger.stop();
        self.perform(orders, context);
    }
}
