//! The actors of this node that other nodes may send to, by their names.

use crate::body::Letter;
use crate::errand::Errand;
use crate::wire::Why;
use crate::{Accepts, ActorRef, ActorRow, Remote, Status};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Why an actor was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Another one that has not stopped has the name.
    #[error("an actor called `{0}` is published already; withdraw it first, or name this one otherwise")]
    Taken(String),
    /// Its list of messages has two of one name.
    #[error("`{actor}` accepts two kinds of messages called `{kind}`; name one otherwise")]
    Ambiguous {
        /// The actor's name.
        actor: String,
        /// The name of both.
        kind: &'static str,
    },
    /// It lives on another node.
    #[error("`{0}` lives on another node, and only actors of this one can be published")]
    Elsewhere(String),
}

/// The published actors of a node. Cheap to clone; there may be any number in a process. A published actor is kept
/// running.
#[derive(Clone, Default)]
pub struct Registry(Arc<RwLock<BTreeMap<String, Arc<dyn Served>>>>);

impl Registry {
    /// One with nobody in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets other nodes send to an actor, by its name.
    ///
    /// # Errors
    /// If the name is taken by one that has not stopped, the actor lives elsewhere, or its list is ambiguous.
    pub fn publish<A: Remote>(&self, actor: &ActorRef<A>) -> Result<(), PublishError> {
        let name = actor.status().name().to_owned();
        let Some(status) = actor.record().cloned() else { return Err(PublishError::Elsewhere(name)) };
        let accepts = Accepts::of();
        let mut kinds: Vec<_> = accepts.names().collect();
        kinds.sort_unstable();
        if let Some(twice) = kinds.windows(2).find(|two| two[0] == two[1]) {
            return Err(PublishError::Ambiguous { actor: name, kind: twice[0] });
        }
        let mut actors = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if actors.get(&name).is_some_and(|other| other.status().stopped().is_none()) {
            return Err(PublishError::Taken(name));
        }
        actors.insert(name, Arc::new(Published { actor: actor.clone(), status, accepts }));
        Ok(())
    }

    /// Lets nobody send to the actor any more; whether there was one. What it was sent before is still handled.
    pub fn withdraw(&self, name: &str) -> bool {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(name).is_some()
    }

    /// What is known of them, by name.
    pub fn rows(&self) -> Vec<ActorRow> {
        let actors = self.0.read().unwrap_or_else(PoisonError::into_inner);
        actors.values().map(|actor| ActorRow::of(actor.kind(), actor.status())).collect()
    }

    /// The actor of a name, or a sentence on who there is.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<dyn Served>, String> {
        const NAMED: usize = 8;
        let actors = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(actor) = actors.get(name) {
            return Ok(actor.clone());
        }
        let more = actors.len().saturating_sub(NAMED);
        let mut names: Vec<_> = actors.keys().take(NAMED).map(String::as_str).collect();
        let more = format!("{more} more");
        if actors.len() > NAMED {
            names.push(&more);
        }
        let there = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
        Err(format!("nobody of that name is published there; there is: {there}"))
    }
}

/// A published actor of any type.
pub(crate) trait Served: Send + Sync {
    /// Hands over a message.
    fn deliver(&self, kind: &str, letter: Letter, errand: Errand);
    fn status(&self) -> &Arc<Status>;
    fn kind(&self) -> &'static str;
}

struct Published<A: Remote> {
    actor: ActorRef<A>,
    status: Arc<Status>,
    accepts: Accepts<A>,
}

impl<A: Remote> Served for Published<A> {
    fn deliver(&self, kind: &str, letter: Letter, errand: Errand) {
        match self.accepts.kind(kind) {
            Some(kind) => (kind.deliver)(&self.actor, letter, errand),
            None => {
                let kinds: Vec<_> = self.accepts.names().collect();
                let why = format!("it accepts no `{kind}`; it accepts: {}", kinds.join(", "));
                errand.fail(Why::Refused(why));
            }
        }
    }

    fn status(&self) -> &Arc<Status> {
        &self.status
    }

    fn kind(&self) -> &'static str {
        A::KIND
    }
}
