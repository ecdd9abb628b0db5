//! Starts actors and ends them all.

use crate::actors::Actors;
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
    actors: Actors,
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
        let system =
            Self { arbiters: Vec::new(), living: living.clone(), actors: Actors::default(), patience };
        let output = runner.block_on(program(system));
        Ok((output, living.names()))
    }

    /// Starts an actor made by `factory`, which is called again after each panic the policy forgives. An actor whose
    /// thread the operating system refuses has stopped, and its status says so.
    pub fn start<A: Actor>(
        &mut self,
        spawn: Spawn,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> ActorRef<A> {
        let life = (spawn.thread == Thread::Own).then(|| self.living.enter(&spawn.name));
        let status = Arc::new(Status::new(spawn.name, spawn.mailbox));
        self.actors.enter(A::KIND, &status);
        let record = status.clone();
        // Tickets bound the mailbox, exactly; actix's own bound is by the sender, so it is put out of the way (0).
        let (sender, receiver) = channel(0);
        let start = move || {
            let cell = Cell::new(factory, spawn.restart, record, life);
            actix::spawn(actix::Context::with_receiver(receiver).into_future(cell));
        };
        let refused = match self.arbiter(spawn.thread) {
            Ok(arbiter) => (!arbiter.spawn_fn(start)).then(|| "it has ended".to_owned()),
            Err(e) => Some(e.to_string()),
        };
        if let Some(cause) = refused {
            status.stop(Stopped::Panicked(format!("its thread could not be started: {cause}")));
        }
        ActorRef::here(actix::Addr::new(sender), status)
    }

    /// A view of all actors started so far and later.
    pub fn actors(&self) -> Actors {
        self.actors.clone()
    }

    fn arbiter(&mut self, thread: Thread) -> std::io::Result<ArbiterHandle> {
        match thread {
            Thread::Shared => Ok(Arbiter::current()),
            Thread::Own => {
                let arbiter = Arbiter::try_new()?;
                let handle = arbiter.handle();
                self.arbiters.push(arbiter);
                Ok(handle)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    struct Idle;

    impl Actor for Idle {
        const KIND: &'static str = "idle";
    }

    /// Threads of a process with this set cannot be: no memory holds their stacks.
    const STACK: (&str, &str) = ("RUST_MIN_STACK", "70368744177664");

    #[test]
    fn a_thread_that_the_system_refuses_is_the_actors_end() {
        if std::env::var(STACK.0).as_deref() != Ok(STACK.1) {
            let name = "system::tests::a_thread_that_the_system_refuses_is_the_actors_end";
            let me = std::env::current_exe().expect("a test has a path");
            let inner =
                Command::new(me).args([name, "--exact", "--test-threads=1"]).env(STACK.0, STACK.1).output();
            let inner = inner.expect("a test can be run");
            let said = String::from_utf8_lossy(&inner.stdout);
            assert!(inner.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let stopped = System::run(async |mut system| {
            let idle = system.start(Spawn::named("idle").own_thread(), || Idle);
            idle.status().stopped()
        });
        let Ok(Some(Stopped::Panicked(cause))) = stopped else { panic!("{stopped:?}") };
        assert!(cause.starts_with("its thread could not be started: "), "{cause}");
    }
}
