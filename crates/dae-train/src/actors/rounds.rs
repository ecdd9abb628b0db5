//! Where a worker's rounds begin and end.

use super::middle::account;
use super::parameter_server::{Load, Push};
use super::seat::{Begun, Lead, Note, Part, Pulled, Seat};
use super::{Child, ChildState, Group, Inner};
use crate::centre::{Arrival, Motion, Turn};
use dae_collective::{Broken, Commit, Member};
use std::ops::Range;
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
    /// The round that is under way.
    round: Option<u64>,
    /// Steps done in it, their samples, and the sum of the losses.
    steps: u64,
    samples: f64,
    loss: f64,
    /// Where fragments take turns: what went into each since it was pushed last, whether a round was done before, and the one
    /// that has come before its turn.
    since: Vec<f64>,
    goes_on: bool,
    early: Option<Part>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(seat: Seat, group: &'a Group, child: &'a Child) -> Self {
        let done = (child.steps + child.period - 1) % child.period + 1;
        let of_a_step = (group.arena.world() * group.shares.accum * group.shares.batch) as f64;
        let goes_on = child.steps > 0;
        let since =
            child.turns.map_or(vec![], |turns| turns.since(if goes_on { done } else { 0 }, of_a_step));
        let (round, early, steps, samples, loss) = (None, None, 0, 0.0, 0.0);
        Self { seat, group, child, round, steps, samples, loss, since, goes_on, early }
    }

    /// Whether the next step is the first of its round.
    pub(super) fn first(&self) -> bool {
        self.steps == 0
    }

    /// Begins a round where none is under way: the centre's parameters become the group's, but where fragments take turns.
    /// False if the group is to leave instead.
    pub(super) fn begin(&mut self, member: &mut Member, local: usize, step: u64) -> Result<bool, Unseated> {
        if self.round.is_some() {
            return Ok(true);
        }
        let Some(pulled) = self.hear(step, None)? else { return Ok(false) };
        if pulled.copy {
            member.copy_slice()?;
        }
        self.take_up(member, local, &pulled)?;
        if let (true, Seat::Lead(lead)) = (pulled.copy, &self.seat) {
            let copy = member.take_snapshot(step).map(|copy| ChildState::new(copy, Some(self.child)));
            let inner = Inner { child: self.child.index, copy };
            let told = lead.coordinator.tell(inner).map_err(|e| e.to_string());
            told.map_err(|e| Unseated::Failed(account(lead.coordinator.status(), e)))?;
        }
        (self.round, self.steps, self.samples, self.loss) = (Some(pulled.round), 0, 0.0, 0.0);
        Ok(true)
    }

    /// What came of the centre becomes the group's.
    fn take_up(&self, member: &mut Member, local: usize, pulled: &Pulled) -> Result<(), Broken> {
        let (slice, mix) = (member.arena().slice_of(local), self.child.mix);
        // A reduce of nothing: in its apply phase each rank may write its slice of the parameters.
        member.reduce(Default::default(), |view| {
            pulled.fill(slice, mix, view.params);
            Ok(((), None))
        })?;
        if let (Seat::Lead(_), Some(mut residual)) = (&self.seat, self.child.residual()) {
            pulled.parts.iter().for_each(|(at, part)| residual.pulled(*at, &part.numbers));
        }
        Ok(())
    }

    /// Counts a step, and pushes what is due.
    pub(super) fn step(
        &mut self,
        member: &mut Member,
        local: usize,
        commit: &Commit,
        step: u64,
    ) -> Result<(), Unseated> {
        self.steps += 1;
        self.samples += commit.weight;
        self.loss += commit.loss * commit.weight;
        self.since.iter_mut().for_each(|since| *since += commit.weight);
        let last = step == self.group.total_steps;
        let over = last || self.steps == self.child.period;
        match self.child.turns {
            Some(turns) => {
                for turn in turns.due(self.steps, last, self.goes_on) {
                    match turn {
                        Turn::Push(fragment) => {
                            let samples = std::mem::take(&mut self.since[fragment]);
                            self.push(fragment..fragment + 1, samples, member)?;
                        }
                        Turn::Merge(fragment) => {
                            let pulled = self.hear(step, Some(fragment))?;
                            let gone = || Unseated::Failed("a fragment of the centre did not come".into());
                            self.take_up(member, local, &*pulled.ok_or_else(gone)?)?;
                        }
                    }
                }
            }
            None if over => self.push(0..self.slices(), self.samples, member)?,
            None => {}
        }
        if over { self.end(last) } else { Ok(()) }
    }

    fn slices(&self) -> usize {
        if let Seat::Lead(lead) = &self.seat { lead.holders.len() } else { 0 }
    }

    /// Pushes these shards, into which so many samples have gone.
    fn push(&self, shards: Range<usize>, samples: f64, member: &Member) -> Result<(), Unseated> {
        let (Some(round), Seat::Lead(lead)) = (self.round, &self.seat) else { return Ok(()) };
        let (child, gathered) = (self.child.index, self.child.gathered());
        let (raw, all) = (gathered.is_some(), gathered.as_deref().unwrap_or(member.params()));
        let mut residual = self.child.residual();
        for (slice, holder) in &lead.holders[shards] {
            let numbers = all[slice.clone()].to_vec();
            let load = match &mut residual {
                None => Load::Numbers(numbers),
                Some(residual) => {
                    let motion = if raw { Motion::Raw(numbers) } else { Motion::Value(numbers) };
                    Load::Bytes(residual.encode(slice.clone(), &motion))
                }
            };
            let push = Push { child, round, samples, raw, load };
            holder.tell(push).map_err(|e| Unseated::Failed(account(holder.status(), e)))?;
        }
        Ok(())
    }

    /// Says that a round is over.
    fn end(&mut self, last: bool) -> Result<(), Unseated> {
        (self.steps, self.goes_on) = (0, true);
        let (Some(round), Seat::Lead(lead)) = (self.round.take(), &self.seat) else { return Ok(()) };
        let (child, samples, loss) = (self.child.index, self.samples as u64, self.loss);
        let arrival = Arrival { child, round, samples, loss, last };
        let told = lead.coordinator.tell(arrival).map_err(|e| e.to_string());
        told.map_err(|e| Unseated::Failed(account(lead.coordinator.status(), e)))
    }

    /// What there is to begin a round from, or a fragment whose turn it is.
    fn hear(&mut self, step: u64, fragment: Option<usize>) -> Result<Begun, Unseated> {
        let wait = Wait { group: self.group, child: self.child, step };
        match &self.seat {
            Seat::Follow(begun) => wait.next(begun, || None),
            Seat::Lead(lead) => {
                self.child.rest(true);
                let begun = match fragment {
                    None if self.child.turns.is_none() => lead.pull(&wait),
                    None => lead.go_ahead(&wait, &mut self.early),
                    Some(fragment) => lead.fragment(&wait, fragment, self.early.take()),
                };
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
    /// The next note, unless it is the end.
    fn note(&self, wait: &Wait<'_>) -> Result<Note, Unseated> {
        let note = wait.next(&self.notes, || self.gone())?;
        match &note {
            Note::Over(cause) => return Err(Unseated::Failed(cause.clone())),
            Note::Part(part) => {
                let Some((slice, holder)) = self.holders.get(part.shard) else {
                    return Err(Unseated::Failed("a shard of the centre that there is not".into()));
                };
                if !part.finite {
                    return Err(Unseated::Failed(holder.not_finite(part.version)));
                }
                if slice.len() != part.numbers.len() {
                    return Err(Unseated::Failed("a shard of the centre is not as long as its slice".into()));
                }
            }
            Note::Round { .. } | Note::Leave => {}
        }
        Ok(note)
    }

    /// A part of each shard, all of one version.
    fn pull(&self, wait: &Wait<'_>) -> Result<Begun, Unseated> {
        let mut parts: Vec<Option<Part>> = self.holders.iter().map(|_| None).collect();
        while parts.iter().any(Option::is_none) {
            match self.note(wait)? {
                Note::Part(part) => {
                    let shard = part.shard;
                    parts[shard] = Some(part);
                }
                Note::Leave => return Ok(None),
                _ => return Err(Unseated::Failed("a round without the centre to begin it from".into())),
            }
        }
        let slices = self.holders.iter().map(|(slice, _)| slice.start);
        let parts: Vec<_> = slices.zip(parts.into_iter().flatten()).collect();
        let Some((version, round, copy)) = parts.first().map(|(_, p)| (p.version, p.round, p.copy)) else {
            return Err(Unseated::Failed("a centre without shards".into()));
        };
        if parts.iter().any(|(_, part)| (part.version, part.round) != (version, round)) {
            return Err(Unseated::Failed("the shards of the centre are of different versions".into()));
        }
        Ok(Some(Arc::new(Pulled { round, copy, parts })))
    }

    /// The word to begin a round in which fragments take turns. One that comes meanwhile is put by.
    fn go_ahead(&self, wait: &Wait<'_>, early: &mut Option<Part>) -> Result<Begun, Unseated> {
        loop {
            match self.note(wait)? {
                Note::Round { round, copy } => {
                    return Ok(Some(Arc::new(Pulled { round, copy, parts: vec![] })));
                }
                Note::Part(part) => *early = Some(part),
                _ => return Ok(None),
            }
        }
    }

    /// The fragment whose turn it is, if it has not come already.
    fn fragment(&self, wait: &Wait<'_>, fragment: usize, early: Option<Part>) -> Result<Begun, Unseated> {
        let note = early.map_or_else(|| self.note(wait), |part| Ok(Note::Part(part)))?;
        match note {
            Note::Part(part) if part.shard == fragment => {
                let (round, at) = (part.round, self.holders[fragment].0.start);
                Ok(Some(Arc::new(Pulled { round, copy: false, parts: vec![(at, part)] })))
            }
            _ => Err(Unseated::Failed("another fragment of the centre than the one whose turn it is".into())),
        }
    }

    /// Why nothing will come any more, if so.
    fn gone(&self) -> Option<String> {
        let holders = self.holders.iter().map(|(_, holder)| holder.status());
        let status = holders.chain([self.coordinator.status()]).find(|status| status.stopped().is_some())?;
        Some(format!("{}: {}", status.name(), status.latest_cause().unwrap_or_else(|| "it ended".into())))
    }
}

/// A wait for others: it lasts as long as they take for their rounds, each of whose steps has a bound of its own.
struct Wait<'a> {
    group: &'a Group,
    child: &'a Child,
    step: u64,
}

impl Wait<'_> {
    fn next<T>(&self, from: &Receiver<T>, gone: impl Fn() -> Option<String>) -> Result<T, Unseated> {
        let looks = self.child.period.saturating_mul(self.child.behind).saturating_add(2);
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
            "child {child} has waited {bound:?} for the others after step {step} (job.stall_timeout_s for each step they may \
             be behind)"
        )
    }
}
