//! Starts actors and ends them all.

use crate::cell::Cell;
use crate::living::Living;
use crate::{Actor, ActorRef, Restart, Status, Stopped};
use actix::dev::channel::channel;
use actix::{Arbiter, ArbiterHandle};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Where an actor runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// With others, on the thread of the system: for actors that only pass messages on.
    Shared,
    /// On a thread of its own: for actors that compute or wait for a disk.
    Own,
}

/// How to start an actor.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// Its name, unique in the job: for logs, errors and tables.
    pub name: String,
    /// The bound of its mailbox, in messages.
    pub mailbox: usize,
    /// Where it runs.
    pub thread: Thread,
    /// What follows a panic.
    pub restart: Restart,
}

impl Spawn {
    /// A shared thread, a mailbox of 64, no restart.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), mailbox: 64, thread: Thread::Shared, restart: Restart::NEVER }
    }

    /// On a thread of its own.
    pub fn own_thread(self) -> Self {
        Self { thread: Thread::Own, ..self }
    }

    /// With another restart policy.
    pub fn restart(self, restart: Restart) -> Self {
        Self { restart, ..self }
    }

    /// With another bound of the mailbox, in messages.
    pub fn mailbox(self, mailbox: usize) -> Self {
        Self { mailbox, ..self }
    }
}

/// A set of actors with the threads they run on. Dropping it ends the threads, each after the message it is at.
pub struct System {
    arbiters: Vec<Arbiter>,
    living: Arc<Living>,
    patience: Duration,
}

impl System {
    /// Runs a program that uses actors, on the current thread. When it returns, so have the threads of its actors,
    /// but for those that are stuck in a message for more than a minute, which are left behind.
    ///
    /// # Errors
    /// If the operating system refuses the runtime's resources.
    pub fn run<F: Future>(program: impl FnOnce(Self) -> F) -> std::io::Result<F::Output> {
        Self::run_within(Duration::from_secs(60), program).map(|(output, _)| output)
    }

    /// As [`System::run`], with a bound of one's own on how long to wait for the threads at the end; returns the names
    /// of the actors that were left behind as well.
    ///
    /// # Errors
    /// As [`System::run`].
    pub fn run_within<F: Future>(
        patience: Duration,
        program: impl FnOnce(Self) -> F,
    ) -> std::io::Result<(F::Output, Vec<String>)> {
        let runner = actix::System::new();
        let living = Arc::<Living>::default();
        let system = Self { arbiters: Vec::new(), living: living.clone(), patience };
        let output = runner.block_on(program(system));
        Ok((output, living.names()))
    }

    /// Starts an actor made by `factory`, which is called again after each panic the policy forgives.
    pub fn start<A: Actor>(
        &mut self,
        spawn: Spawn,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> ActorRef<A> {
        let life = (spawn.thread == Thread::Own).then(|| self.living.enter(&spawn.name));
        let status = Arc::new(Status::new(spawn.name, spawn.mailbox));
        let arbiter = self.arbiter(spawn.thread);
        let record = status.clone();
        // Tickets bound the mailbox, exactly; actix's own bound is by the sender, so it is put out of the way (0).
        let (sender, receiver) = channel(0);
        let started = arbiter.spawn_fn(move || {
            let cell = Cell::new(factory, spawn.restart, record, life);
            actix::spawn(actix::Context::with_receiver(receiver).into_future(cell));
        });
        if !started {
            status.stop(Stopped::Panicked("its thread could not be started".into()));
        }
        ActorRef::new(actix::Addr::new(sender), status)
    }

    fn arbiter(&mut self, thread: Thread) -> ArbiterHandle {
        match thread {
            Thread::Shared => Arbiter::current(),
            Thread::Own => {
                let arbiter = Arbiter::new();
                let handle = arbiter.handle();
                self.arbiters.push(arbiter);
                handle
            }
        }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        let ended = self.living.wait(self.patience);
        for arbiter in self.arbiters.drain(..).filter(|_| ended) {
            // A thread that ended in a panic has told it through its actor's status.
            drop(arbiter.join());
        }
    }
}
