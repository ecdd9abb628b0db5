//! The join coordinator: keeps the books of a join, and says to shards and children what follows.

use super::copying::{Copying, together};
use super::parameter_server::{Shown, Task};
use super::seat::Note;
use super::told::Told;
use super::{
    AllReduceCoordinator, End, Ended, Group, Kept, ParameterServer, Recorder, StepRecord, Stop, Train,
};
use crate::centre::{Arrival, Ledger, Order};
use crate::topology::LearningRate;
use dae_actor::{Actor, ActorRef, AskError, Context, Handler, Message, ReplyTo};
use dae_collective::{Broken, Snapshot};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// Longer than any run.
const EVER: Duration = Duration::from_secs(1 << 31);

/// What a join goes by, the same for as long as it runs.
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
    /// What its workers share.
    pub group: Arc<Group>,
    /// Who forms and ends its group.
    pub coordinator: ActorRef<AllReduceCoordinator>,
    /// Where its first worker hears of the centre.
    pub notes: SyncSender<Note>,
    /// Steps it has done before.
    pub steps: u64,
}

/// Control only: numbers go between children and shards. It begins the children, and ends with them.
pub struct JoinCoordinator {
    facts: JoinFacts,
    ledger: Ledger,
    children: Vec<JoinChild>,
    servers: Vec<ActorRef<ParameterServer>>,
    told: Told,
    samples: u64,
    loss: Option<f64>,
    /// When each child pushed, while it waits.
    pushed: Vec<Option<Instant>>,
    copying: Option<Copying>,
    ends: Vec<Option<End>>,
    left: Vec<Option<Arc<Snapshot>>>,
    stop: Option<String>,
    failed: Option<String>,
    done: Option<ReplyTo<End>>,
}

impl JoinCoordinator {
    /// A coordinator of these children around these shards.
    pub fn new(
        facts: JoinFacts,
        ledger: Ledger,
        children: Vec<JoinChild>,
        servers: Vec<ActorRef<ParameterServer>>,
        recorder: ActorRef<Recorder>,
    ) -> Self {
        let workers = children.first().map_or(0, |child| child.group.world());
        let none = || children.iter().map(|_| None).collect();
        Self {
            told: Told::new(Some(recorder), workers, facts.version),
            samples: facts.samples,
            loss: None,
            pushed: none_of(&children),
            copying: None,
            ends: none_of(&children),
            left: none(),
            stop: None,
            failed: None,
            done: None,
            facts,
            ledger,
            servers,
            children,
        }
    }

    fn perform(&mut self, orders: Vec<Order>, context: &mut Context<'_, Self>) {
        self.told.taken(self.ledger.taken());
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
                    self.order(|| Task::Serve { child, round, copy });
                }
                Order::Fire { version, given } => self.fire(version, &given),
                Order::Drop { child, .. } => self.order(|| Task::Forget { child }),
                Order::Leave { child } => self.note(child, Note::Leave),
                Order::Quiet => {
                    self.copy(context);
                    let orders = self.ledger.release();
                    self.perform(orders, context);
                }
            }
        }
    }

    fn fire(&mut self, version: u64, given: &[Arrival]) {
        let factor = self.facts.factor(version);
        let rate = if self.facts.outer { factor } else { 1.0 };
        let children: Vec<_> = given.iter().map(|each| each.child).collect();
        self.order(|| Task::Fire { rate, given: children.clone() });
        let samples: u64 = given.iter().map(|each| each.samples).sum();
        let loss = given.iter().map(|each| each.loss).sum::<f64>() / samples as f64;
        self.samples += samples;
        self.loss = Some(loss);
        // All waited for who came last.
        let last = given.iter().filter_map(|each| Some((self.pushed[each.child]?, each.child))).max();
        let slowest = last.map_or(0, |(_, child)| self.children[child].group.first_rank());
        let record =
            StepRecord { step: version, loss, samples: self.samples, lr: self.facts.base_rate * factor };
        self.told.step(record, samples as f64, slowest);
    }

    /// Orders all shards alike.
    fn order(&mut self, task: impl Fn() -> Task) {
        for server in self.servers.clone() {
            if let Err(e) = server.tell(task()) {
                let status = server.status();
                let cause = status.latest_cause().unwrap_or_else(|| e.to_string());
                return self.fail(format!("{}: {cause}", status.name()));
            }
        }
    }

    fn note(&self, child: usize, note: Note) {
        // One that has gone away, or has been told before, need not hear it.
        let _ = self.children[child].notes.try_send(note);
    }

    /// Everybody ends; the first cause counts.
    fn fail(&mut self, cause: String) {
        if self.failed.is_some() {
            return;
        }
        for (index, child) in self.children.iter().enumerate() {
            self.note(index, Note::Over(cause.clone()));
            let rank = child.group.first_rank();
            child.group.arena.break_with(Broken::Left { rank, cause: format!("the join failed: {cause}") });
        }
        self.failed = Some(cause);
    }

    /// Asks all shards what they have come to, and then goes on with it.
    fn shown(
        &self,
        context: &mut Context<'_, Self>,
        then: impl FnOnce(&mut Self, Result<Vec<Shown>, String>, &mut Context<'_, Self>) + 'static,
    ) {
        let bound = self.children.iter().map(|child| child.group.patience()).max().unwrap_or(EVER);
        let asked: Vec<_> = self
            .servers
            .iter()
            .map(|server| {
                let (to, shown) = dae_actor::reply(server.status().name());
                (server.tell(Task::Show(to)).map_err(|e| e.to_string()), shown)
            })
            .collect();
        let all = async move {
            let mut all = Vec::new();
            for (asked, shown) in asked {
                asked?;
                all.push(shown.within(bound).await.map_err(|e| e.to_string())?);
            }
            Ok(all)
        };
        context.spawn(all, then);
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

    fn ended(&mut self, child: usize, end: Result<End, AskError>, context: &mut Context<'_, Self>) {
        let mut end = end.unwrap_or_else(|e| End::failed(0, e.to_string()));
        self.left[child] = end.snapshot.take().and_then(Kept::into_snapshot).map(Arc::new);
        if let Ended::Failed(cause) = &end.how {
            self.fail(cause.clone());
        }
        self.ends[child] = Some(end);
        self.copied();
        match (self.ends.iter().all(Option::is_some), self.failed.clone()) {
            (false, _) => {}
            (true, Some(cause)) => self.end(Err(cause)),
            (true, None) => self.shown(context, |me, shown, _| me.end(shown)),
        }
    }

    /// All children have ended.
    fn end(&mut self, shown: Result<Vec<Shown>, String>) {
        self.told.rest();
        let version = self.ledger.version();
        let short = |end: &End| !matches!(end.how, Ended::Finished);
        let how = match (&self.failed, &shown) {
            (Some(cause), _) | (None, Err(cause)) => Ended::Failed(cause.clone()),
            (None, Ok(shown)) if shown.iter().any(|shard| !shard.finite) => {
                Ended::Failed("the centre of the join has numbers that are not finite".into())
            }
            _ if self.ends.iter().flatten().any(short) => {
                Ended::Stopped(self.stop.take().unwrap_or_else(|| "its children left".into()))
            }
            _ => Ended::Finished,
        };
        let left = std::mem::take(&mut self.left);
        let snapshot = match (&how, shown) {
            (Ended::Failed(_), _) | (_, Err(_)) => None,
            (_, Ok(shown)) => Some(together(version, self.samples, shown, left)),
        };
        let (loss, pace) = (self.loss, self.told.pace());
        let tally = Some(self.ledger.tally().clone());
        if let Some(done) = self.done.take() {
            done.send(End { how, step: version, loss, snapshot, pace, restarts: 0, lost: None, tally });
        }
    }
}

fn none_of<T>(children: &[JoinChild]) -> Vec<Option<T>> {
    children.iter().map(|_| None).collect()
}

impl Actor for JoinCoordinator {
    const KIND: &'static str = "join-coordinator";
}

impl Handler<Train> for JoinCoordinator {
    fn handle(&mut self, train: Train, context: &mut Context<'_, Self>) {
        self.done = Some(train.done);
        for index in 0..self.children.len() {
            let JoinChild { coordinator, steps, .. } = &self.children[index];
            let (done, end) = dae_actor::reply(coordinator.status().name());
            if let Err(e) = coordinator.tell(Train { first: *steps, done }) {
                self.fail(e.to_string());
            }
            context.spawn(end.within(EVER), move |me, end, context| me.ended(index, end, context));
        }
        for server in self.servers.clone() {
            let status = server.clone();
            context.spawn(async move { server.stopped().await }, move |me, why, _| {
                let status = status.status();
                let cause = status.latest_cause().unwrap_or_else(|| why.to_string());
                me.fail(format!("{}: {cause}", status.name()));
            });
        }
        let orders = self.ledger.begin();
        self.perform(orders, context);
    }
}

impl Message for Arrival {
    type Reply = ();
}

impl Handler<Arrival> for JoinCoordinator {
    fn handle(&mut self, arrival: Arrival, context: &mut Context<'_, Self>) {
        if let Some(pushed) = self.pushed.get_mut(arrival.child) {
            pushed.get_or_insert_with(Instant::now);
        }
        let orders = self.ledger.arrive(arrival);
        self.perform(orders, context);
    }
}

/// A child has copied its state, for a checkpoint.
pub struct Inner {
    /// Which child.
    pub child: usize,
    /// The copy, if there was room for it.
    pub snapshot: Option<Snapshot>,
}

impl Message for Inner {
    type Reply = ();
}

impl Handler<Inner> for JoinCoordinator {
    fn handle(&mut self, Inner { child, snapshot }: Inner, _: &mut Context<'_, Self>) {
        if let Some(copying) = &mut self.copying {
            copying.take(child, snapshot);
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
