//! Where a worker's rounds begin and end.

use super::parameter_server::{Load, Push};
use super::seat::{Begun, Lead, Note, Part, Pulled, Seat};
use super::{Child, ChildState, Group, Inner};
use crate::centre::{Arrival, Motion};
use dae_actor::{ActorRef, TellError};
use dae_collective::{Broken, Commit, Member};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Why a round could not begin or end.
pub(super) enum Unseated {
    Broken(Broken),
    Failed(String),
}

impl From<Broken> for Unseated {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// The rounds of a worker's lease.
pub(super) struct Rounds<'a> {
    seat: Seat,
    group: &'a Group,
    child: &'a Child,
    /// The round that is under way, and what it began from where a push is measured from that here.
    round: Option<(u64, Option<Arc<Pulled>>)>,
    /// Steps done in it, their samples, and the sum of the losses.
    steps: u64,
    samples: f64,
    loss: f64,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(seat: Seat, group: &'a Group, child: &'a Child) -> Self {
        Self { seat, group, child, round: None, steps: 0, samples: 0.0, loss: 0.0 }
    }

    /// Whether the next step is the first of its round.
    pub(super) fn first(&self) -> bool {
        self.steps == 0
    }

    /// Begins a round where none is under way: the centre's parameters become the group's. False if the group is to
    /// leave instead.
    pub(super) fn begin(&mut self, member: &mut Member, local: usize, step: u64) -> Result<bool, Unseated> {
        if self.round.is_some() {
            return Ok(true);
        }
        let Some(pulled) = self.pull(step)? else { return Ok(false) };
        if pulled.copy {
            member.copy_slice()?;
        }
        let slice = member.arena().slice_of(local);
        // A reduce of nothing: in its apply phase each rank may write its slice of the parameters.
        member.reduce(Default::default(), |view| {
            pulled.fill(slice, view.params);
            Ok(((), None))
        })?;
        if let (true, Seat::Lead(lead)) = (pulled.copy, &self.seat) {
            let copy = member.take_snapshot(step).map(|copy| ChildState::new(copy, Some(self.child)));
            let inner = Inner { child: self.child.index, copy };
            lead.coordinator.tell(inner).map_err(|e| Unseated::Failed(untold(&lead.coordinator, &e)))?;
        }
        let (round, leads) = (pulled.round, matches!(self.seat, Seat::Lead(_)));
        let from = (leads && self.child.residual().is_some()).then_some(pulled);
        (self.round, self.steps, self.samples, self.loss) = (Some((round, from)), 0, 0.0, 0.0);
        Ok(true)
    }

    /// Counts a step, and pushes where it was the last of its round.
    pub(super) fn step(&mut self, member: &Member, commit: &Commit, step: u64) -> Result<(), Unseated> {
        self.steps += 1;
        self.samples += commit.weight;
        self.loss += commit.loss * commit.weight;
        let last = step == self.group.total_steps;
        if !last && self.steps < self.child.period {
            return Ok(());
        }
        self.steps = 0;
        let (Some((round, from)), Seat::Lead(lead)) = (self.round.take(), &self.seat) else { return Ok(()) };
        self.push(lead, round, from.as_deref(), member, last).map_err(Unseated::Failed)
    }

    fn push(
        &self,
        lead: &Lead,
        round: u64,
        from: Option<&Pulled>,
        member: &Member,
        last: bool,
    ) -> Result<(), String> {
        let (child, samples) = (self.child.index, self.samples);
        let gathered = self.child.gathered();
        let (raw, all) = (gathered.is_some(), gathered.as_deref().unwrap_or(member.params()));
        let mut residual = self.child.residual().zip(from);
        for (shard, (slice, server)) in lead.servers.iter().enumerate() {
            let numbers = all[slice.clone()].to_vec();
            let load = match &mut residual {
                None => Load::Numbers(numbers),
                Some((residual, from)) => {
                    let motion = if raw { Motion::Raw(numbers) } else { Motion::Value(numbers) };
                    Load::Bytes(residual.encode(slice.clone(), from.part(shard), &motion))
                }
            };
            let push = Push { child, round, samples, raw, load };
            server.tell(push).map_err(|e| untold(server, &e))?;
        }
        let arrival = Arrival { child, round, samples: samples as u64, loss: self.loss, last };
        lead.coordinator.tell(arrival).map_err(|e| untold(&lead.coordinator, &e))
    }

    fn pull(&self, step: u64) -> Result<Begun, Unseated> {
        let wait = Wait { group: self.group, child: self.child, step };
        match &self.seat {
            Seat::Follow(begun) => wait.next(begun, || None),
            Seat::Lead(lead) => {
                self.child.rest(true);
                let begun = lead.pull(&wait);
                self.child.rest(false);
                let begun = begun?;
                for follower in &lead.followers {
                    // It has room, since it has taken what came before; one that has gone breaks the group.
                    let _ = follower.try_send(begun.clone());
                }
                Ok(begun)
            }
        }
    }
}

impl Lead {
    /// A part of each shard, all of one version.
    fn pull(&self, wait: &Wait<'_>) -> Result<Begun, Unseated> {
        let mut parts: Vec<Option<Part>> = self.servers.iter().map(|_| None).collect();
        while parts.iter().any(Option::is_none) {
            match wait.next(&self.notes, || self.gone())? {
                Note::Leave => return Ok(None),
                Note::Over(cause) => return Err(Unseated::Failed(cause)),
                Note::Part(part) if !part.finite => {
                    let version = part.version;
                    return Err(Unseated::Failed(format!(
                        "the centre of the join has numbers that are not finite after update {version}; begin anew with \
                         a smaller outer learning rate, or take `scale=sum` out"
                    )));
                }
                Note::Part(part) => {
                    let place = parts.get_mut(part.shard);
                    *place.ok_or_else(|| Unseated::Failed("a shard that there is not".into()))? = Some(part);
                }
            }
        }
        let slices = self.servers.iter().map(|(slice, _)| slice);
        let parts: Vec<_> = slices.zip(parts.into_iter().flatten()).collect();
        let Some((version, round, copy)) = parts.first().map(|(_, p)| (p.version, p.round, p.copy)) else {
            return Err(Unseated::Failed("a centre without shards".into()));
        };
        if parts.iter().any(|(_, part)| (part.version, part.round) != (version, round)) {
            return Err(Unseated::Failed("the shards of the centre are of different versions".into()));
        }
        if parts.iter().any(|(slice, part)| slice.len() != part.numbers.len()) {
            return Err(Unseated::Failed("a shard of the centre is not as long as its slice".into()));
        }
        let parts = parts.into_iter().map(|(slice, part)| (slice.start, part)).collect();
        Ok(Some(Arc::new(Pulled { round, copy, parts })))
    }

    /// Why nothing will come any more, if so.
    fn gone(&self) -> Option<String> {
        let servers = self.servers.iter().map(|(_, server)| server.status());
        let status = servers.chain([self.coordinator.status()]).find(|status| status.stopped().is_some())?;
        Some(format!("{}: {}", status.name(), status.latest_cause().unwrap_or_else(|| "it ended".into())))
    }
}

/// A wait for the centre: it lasts as long as the other children take for their rounds, each of whose steps has a bound
/// of its own.
struct Wait<'a> {
    group: &'a Group,
    child: &'a Child,
    step: u64,
}

impl Wait<'_> {
    fn next<T>(&self, from: &Receiver<T>, gone: impl Fn() -> Option<String>) -> Result<T, Unseated> {
        let looks = self.child.period.saturating_add(2);
        for _ in 0..looks {
            match from.recv_timeout(self.group.patience()) {
                Ok(next) => return Ok(next),
                Err(RecvTimeoutError::Disconnected) => {
                    let told = || Unseated::Failed("the first worker of its group ended".into());
                    return Err(self.group.arena.broken().map_or_else(told, Unseated::Broken));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(broken) = self.group.arena.broken() {
                return Err(Unseated::Broken(broken));
            }
            if let Some(cause) = gone() {
                return Err(Unseated::Failed(cause));
            }
        }
        let bound = self.group.patience().saturating_mul(u32::try_from(looks).unwrap_or(u32::MAX));
        Err(Unseated::Failed(self.overdue(bound)))
    }

    fn overdue(&self, bound: Duration) -> String {
        let (child, step) = (self.child.index, self.step);
        format!(
            "child {child} of the join has waited {bound:?} for the centre after step {step} (job.stall_timeout_s for each \
             step of a round)"
        )
    }
}

/// What went wrong with an actor that could not be told, preferring its own account of it.
fn untold<A: dae_actor::Actor, M>(actor: &ActorRef<A>, seen: &TellError<M>) -> String {
    let status = actor.status();
    format!("{}: {}", status.name(), status.latest_cause().unwrap_or_else(|| seen.to_string()))
}
