//! What becomes of a job: a pure engine. What happens to its hosts goes in, what is to be done to them comes out.

use super::first_cause::FirstCause;
use crate::logs::cause;
use crate::protocol::Work;
use crate::protocol::hosts::{Assignment, Enlist, HostSpot, JobKey, Outcome};
use crate::protocol::jobs::JobState;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long hosts may take from being started to having enlisted.
const ENLIST: Duration = Duration::from_secs(60);
/// How long a kill may take, before a node is given up.
const KILL: Duration = Duration::from_secs(5);
/// How often somebody who should end is told again.
const AGAIN: Duration = Duration::from_secs(1);

/// What does not change about a job.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// The nodes, in the order of their ranks.
    pub(crate) nodes: Vec<String>,
    pub(crate) work: Work,
    pub(crate) run_dir: Option<PathBuf>,
    pub(crate) resume: bool,
    pub(crate) job_key: JobKey,
    /// How long hosts that were asked to stop may take to save.
    pub(crate) grace: Duration,
}

/// What happens to the hosts of a job, each named by its index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// Its node says that it did not start it.
    NotStarted(usize, String),
    /// Its node was told to start or to begin it and has not answered: it may be there or not.
    Unconfirmed(usize, String),
    /// Its node has heard that it is to be killed.
    KillHeard(usize),
    /// It is ready.
    Enlisted(usize, Box<Enlist>),
    /// It says how its part ended.
    Done(usize, Outcome),
    /// Its process has ended, so.
    Exited(usize, String),
    /// A node has left.
    NodeLeft(String, String),
    /// Somebody wants the job to end.
    Stop { why: String, now: bool },
    /// Nothing but time.
    Tick,
}

impl Input {
    /// With words that fit into any message: they come from other processes and other machines.
    fn plain(self) -> Self {
        match self {
            Self::NotStarted(index, why) => Self::NotStarted(index, cause(&why)),
            Self::Unconfirmed(index, why) => Self::Unconfirmed(index, cause(&why)),
            Self::Done(index, outcome) => Self::Done(index, outcome.plain()),
            Self::Exited(index, how) => Self::Exited(index, cause(&how)),
            Self::NodeLeft(node, why) => Self::NodeLeft(node, cause(&why)),
            Self::Stop { why, now } => Self::Stop { why: cause(&why), now },
            Self::Enlisted(..) | Self::KillHeard(_) | Self::Tick => self,
        }
    }
}

/// What is to be done to a host.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Hand it its part.
    Assign(usize, Box<Assignment>),
    /// End it.
    End { index: usize, why: String, kill: bool },
}

/// One host as its job sees it.
#[derive(Debug, Default)]
struct Seat {
    enlisted: Option<Box<Enlist>>,
    outcome: Option<Outcome>,
    asked: bool,
    killed: bool,
    gone: bool,
    /// Nobody knows whether it is there: when it is to be killed next, until its node has heard that, or has left. That
    /// goes on when the job is over.
    unconfirmed: Option<Instant>,
}

/// Where a job is.
#[derive(Debug)]
enum Phase {
    Starting { until: Instant },
    Running,
    Ending { why: String, kill_at: Instant, again: Instant },
    Ended(Outcome),
}

/// A job.
#[derive(Debug)]
pub(crate) struct Engine {
    order: Order,
    seats: Vec<Seat>,
    phase: Phase,
    first: FirstCause,
    stop: Option<String>,
    /// Whether the hosts were given their parts.
    begun: bool,
}

impl Engine {
    /// A job whose hosts are being started.
    pub(crate) fn new(order: Order, now: Instant) -> Self {
        let seats = order.nodes.iter().map(|_| Seat::default()).collect();
        let phase = Phase::Starting { until: now + ENLIST };
        Self { order, seats, phase, first: FirstCause::default(), stop: None, begun: false }
    }

    /// Where it is.
    pub(crate) fn state(&self) -> JobState {
        match &self.phase {
            Phase::Starting { .. } => JobState::Starting,
            Phase::Running => JobState::Running,
            Phase::Ending { why, .. } => JobState::Stopping { why: why.clone() },
            Phase::Ended(outcome) => JobState::Ended(outcome.clone()),
        }
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// Whether there may be hosts of it that nobody knows about.
    pub(crate) fn has_unconfirmed(&self) -> bool {
        self.seats.iter().any(|seat| seat.unconfirmed.is_some())
    }

    /// Takes one input; what it names that does not exist is ignored. After the end, only hosts that may be left matter.
    pub(crate) fn take(&mut self, input: Input, now: Instant) -> Vec<Action> {
        self.confirm(&input);
        if self.is_over() {
            return self.kill_unconfirmed(now);
        }
        let mut actions = match input.plain() {
            Input::NotStarted(index, why) => {
                self.gone(index);
                let why = format!("{} could not start its host: {why}", self.node(index));
                self.fail(index, why, 1, None, now)
            }
            Input::Unconfirmed(index, why) => {
                if let Some(seat) = self.seats.get_mut(index).filter(|seat| !seat.gone) {
                    seat.unconfirmed = Some(now);
                }
                let why = format!("{} did not answer when its host was to begin: {why}", self.node(index));
                self.fail(index, why, 1, None, now)
            }
            Input::KillHeard(_) => Vec::new(),
            Input::Enlisted(index, enlist) => self.enlisted(index, enlist, now),
            Input::Done(index, outcome) => self.done(index, outcome, now),
            Input::Exited(index, how) => self.exited(index, &format!("{how}, without having said why"), now),
            Input::NodeLeft(node, why) => match self.order.nodes.iter().position(|name| *name == node) {
                Some(index) => self.exited(index, &format!("was lost with its node: {why}"), now),
                None => Vec::new(),
            },
            Input::Stop { why, now: at_once } => self.stop(why, at_once, now),
            Input::Tick => Vec::new(),
        };
        actions.extend(self.time(now));
        actions.extend(self.kill_unconfirmed(now));
        if self.seats.iter().all(|seat| seat.gone) {
            self.phase = Phase::Ended(self.outcome().plain());
        }
        actions
    }

    /// Learns that a host of which nobody knew is gone, or will be.
    fn confirm(&mut self, input: &Input) {
        let index = match input {
            Input::KillHeard(index) | Input::Exited(index, _) => Some(*index),
            Input::NodeLeft(node, _) => self.order.nodes.iter().position(|name| name == node),
            _ => None,
        };
        let seat = index.and_then(|index| self.seats.get_mut(index));
        if let Some(seat) = seat
            && seat.unconfirmed.take().is_some()
        {
            seat.gone = true;
        }
    }

    fn kill_unconfirmed(&mut self, now: Instant) -> Vec<Action> {
        let mut actions = Vec::new();
        for (index, seat) in self.seats.iter_mut().enumerate() {
            if seat.unconfirmed.is_some_and(|due| due <= now) {
                seat.unconfirmed = Some(now + AGAIN);
                actions.push(Action::End { index, why: "its job is over".into(), kill: true });
            }
        }
        actions
    }

    fn enlisted(&mut self, index: usize, enlist: Box<Enlist>, now: Instant) -> Vec<Action> {
        if let Phase::Ending { why, .. } = &self.phase {
            return vec![Action::End { index, why: why.clone(), kill: false }];
        }
        let Some(seat) = self.seats.get_mut(index) else { return Vec::new() };
        seat.enlisted = Some(enlist);
        let ready: Vec<_> = self.seats.iter().filter_map(|seat| seat.enlisted.as_deref()).collect();
        if ready.len() < self.seats.len() || !matches!(self.phase, Phase::Starting { .. }) {
            return Vec::new();
        }
        if let Some(other) = ready.iter().position(|host| host.program_sha256 != ready[0].program_sha256) {
            let short = |at: usize| ready[at].program_sha256.chars().take(12).collect::<String>();
            let why = format!(
                "the host programs differ: {} runs one of SHA-256 {}…, {} one of {}…; put the same build on every node",
                self.node(0),
                short(0),
                self.node(other),
                short(other)
            );
            return self.fail(other, why, 1, None, now);
        }
        let spot = |(host, node): (&&Enlist, &String)| HostSpot {
            node: node.clone(),
            identity: host.identity,
            addresses: host.bulk_addresses.clone(),
            program_sha256: host.program_sha256.clone(),
        };
        let hosts: Vec<_> = ready.iter().zip(&self.order.nodes).map(spot).collect();
        (self.phase, self.begun) = (Phase::Running, true);
        let Order { work, run_dir, resume, job_key, .. } = &self.order;
        let assignment = |index: usize| Assignment {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            hosts: hosts.clone(),
            work: work.clone(),
            run_dir: run_dir.clone().filter(|_| index == 0),
            resume: *resume,
            job_key: *job_key,
        };
        (0..hosts.len()).map(|index| Action::Assign(index, Box::new(assignment(index)))).collect()
    }

    fn done(&mut self, index: usize, outcome: Outcome, now: Instant) -> Vec<Action> {
        let node = self.node(index);
        let Some(seat) = self.seats.get_mut(index).filter(|seat| seat.outcome.is_none() && !seat.gone) else {
            return Vec::new();
        };
        // What was ended before it had begun is not to blame for how it went.
        let outcome = match outcome {
            Outcome::Failed { cause, .. } if seat.asked && !self.begun => Outcome::Stopped { why: cause },
            outcome => outcome,
        };
        seat.outcome = Some(outcome.clone());
        if let Outcome::Failed { cause, code, blames } = outcome {
            return self.fail(index, format!("{node}: {cause}"), code, blames.map(|at| at as usize), now);
        }
        if let Outcome::Stopped { why } = outcome {
            // Its own doing, or its daemon's: the others have nobody to go on with.
            let why = format!("{node}: {why}");
            self.stop.get_or_insert_with(|| why.clone());
            return self.end(&why, now);
        }
        if self.seats.iter().all(|seat| seat.outcome.is_some()) && !matches!(self.phase, Phase::Ending { .. })
        {
            // They go by themselves; one that does not is helped.
            let kill_at = now + self.order.grace;
            self.phase = Phase::Ending { why: "it is done".into(), kill_at, again: kill_at };
        }
        Vec::new()
    }

    fn exited(&mut self, index: usize, how: &str, now: Instant) -> Vec<Action> {
        let node = self.node(index);
        let Some(seat) = self.seats.get_mut(index).filter(|seat| !seat.gone) else { return Vec::new() };
        seat.gone = true;
        if seat.asked && !self.begun {
            seat.outcome.get_or_insert(Outcome::Stopped { why: "it had not begun".into() });
        }
        if seat.outcome.is_some() || seat.killed {
            return Vec::new();
        }
        self.fail(index, format!("the host on {node} {how}"), 1, None, now)
    }

    fn stop(&mut self, why: String, at_once: bool, now: Instant) -> Vec<Action> {
        self.stop.get_or_insert_with(|| why.clone());
        let mut actions = self.end(&why, now);
        if at_once && let Phase::Ending { kill_at, again, .. } = &mut self.phase {
            *kill_at = (*kill_at).min(now);
            *again = now;
            actions.clear();
        }
        actions
    }

    fn fail(
        &mut self,
        index: usize,
        cause: String,
        code: u8,
        blames: Option<usize>,
        now: Instant,
    ) -> Vec<Action> {
        self.first.offer(index, cause, code, blames);
        let why = self.first.cause().unwrap_or_default().to_owned();
        self.end(&why, now)
    }

    /// Asks all that are there to stop, once.
    fn end(&mut self, why: &str, now: Instant) -> Vec<Action> {
        if matches!(self.phase, Phase::Ending { .. }) {
            return Vec::new();
        }
        let kill_at = now + self.order.grace;
        self.phase = Phase::Ending { why: why.into(), kill_at, again: kill_at };
        let there = self.seats.iter_mut().enumerate();
        let there =
            there.filter(|(_, seat)| !seat.gone && seat.outcome.is_none() && seat.unconfirmed.is_none());
        let end = |(index, seat): (usize, &mut Seat)| {
            seat.asked = true;
            Action::End { index, why: why.into(), kill: false }
        };
        there.map(end).collect()
    }

    fn time(&mut self, now: Instant) -> Vec<Action> {
        match &mut self.phase {
            Phase::Starting { until } if now >= *until => {
                let missing = self.seats.iter().position(|seat| seat.enlisted.is_none()).unwrap_or(0);
                let why = format!(
                    "the host on {} was not ready within {} s of being started",
                    self.node(missing),
                    ENLIST.as_secs()
                );
                self.fail(missing, why, 3, None, now)
            }
            Phase::Ending { kill_at, .. } if now >= *kill_at + KILL => {
                for (index, seat) in self.seats.iter_mut().enumerate().filter(|(_, seat)| !seat.gone) {
                    seat.gone = true;
                    seat.unconfirmed.get_or_insert(now);
                    let node = &self.order.nodes[index];
                    let cause = format!("{node} does not answer: whether its host has ended is not known");
                    self.first.offer(index, cause, 3, None);
                }
                Vec::new()
            }
            Phase::Ending { why, kill_at, again } if now >= *kill_at && now >= *again => {
                *again = now + AGAIN;
                let mut actions = Vec::new();
                let there = self.seats.iter_mut().enumerate();
                for (index, seat) in there.filter(|(_, seat)| !seat.gone && seat.unconfirmed.is_none()) {
                    seat.killed = true;
                    actions.push(Action::End { index, why: why.clone(), kill: true });
                }
                actions
            }
            _ => Vec::new(),
        }
    }

    /// How the whole job ended, once all hosts are gone.
    fn outcome(&mut self) -> Outcome {
        if let Some((cause, code)) = self.first.take() {
            return Outcome::Failed { cause, code, blames: None };
        }
        let hard: Vec<_> = (0..self.seats.len())
            .filter(|at| self.seats[*at].killed && self.seats[*at].outcome.is_none())
            .map(|at| self.node(at))
            .collect();
        if !hard.is_empty() {
            let why = self.stop.take().unwrap_or_else(|| "it was over".into());
            let cause =
                format!("{why}; the host on {} was killed, what it had not saved is lost", hard.join(", "));
            return Outcome::Failed { cause, code: 1, blames: None };
        }
        let stopped = |seat: &Seat| matches!(seat.outcome, Some(Outcome::Stopped { .. }));
        match self.seats.iter().any(stopped) {
            true => Outcome::Stopped { why: self.stop.take().unwrap_or_else(|| "it had not begun".into()) },
            false => Outcome::Done,
        }
    }

    fn gone(&mut self, index: usize) {
        if let Some(seat) = self.seats.get_mut(index) {
            seat.gone = true;
        }
    }

    fn node(&self, index: usize) -> String {
        self.order.nodes.get(index).cloned().unwrap_or_else(|| format!("host {index}"))
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
