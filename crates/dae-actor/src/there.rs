//! An actor on another node, as its references see it.

use crate::accepts::{Answering, Codecs};
use crate::body::Letter;
use crate::line::{Line, NotSent, Outcome};
use crate::wire::{self, Why};
use crate::{AskError, Message, Status, Stopped, TellError};
use std::any::type_name;
use std::sync::Arc;
use std::time::Duration;

/// A name at the far end of a link.
pub(crate) struct There {
    line: Arc<Line>,
    name: String,
    status: Status,
    codecs: Codecs,
}

impl There {
    pub(crate) fn new(line: Arc<Line>, name: String, codecs: Codecs) -> Self {
        let status = Status::new(format!("{name}@{}", line.peer), line.limits.in_flight);
        Self { line, name, status, codecs }
    }

    pub(crate) fn status(&self) -> &Status {
        if let Some(why) = self.line.has_ended() {
            self.status.stop(Stopped::Unreachable(why));
        }
        &self.status
    }

    pub(crate) fn tell<M: Message>(&self, mut message: M) -> Result<(), TellError<M>> {
        let Some(codec) = self.codecs.of::<M>() else {
            return Err(TellError::Unreachable(message, unlisted::<M>()));
        };
        match self.line.has_room() {
            Ok(()) => {}
            Err(NotSent::Full(_)) => return Err(TellError::Full(message)),
            Err(NotSent::Ended(why)) => return Err(TellError::Unreachable(message, why)),
        }
        let frame = match (codec.write)(&mut message) {
            Ok(letter) => wire::tell(&self.name, codec.kind, letter),
            Err(why) => return Err(TellError::Unreachable(message, why)),
        };
        if let Err(why) = wire::fits(&frame, &self.line.limits.frame) {
            return Err(TellError::Unreachable(message, why));
        }
        self.line.tell(frame);
        Ok(())
    }

    pub(crate) async fn ask<M: Message>(
        &self,
        mut message: M,
        deadline: Duration,
    ) -> Result<M::Reply, AskError> {
        let name = || self.status.name().to_owned();
        let Some(codec) = self.codecs.of::<M>() else {
            return Err(AskError::Refused { name: name(), why: unlisted::<M>() });
        };
        let waiting = match (codec.write)(&mut message) {
            Ok(letter) => self.line.ask(|id| wire::ask(id, &self.name, codec.kind, deadline, letter)),
            Err(why) => Err(NotSent::Full(why)),
        };
        let waiting = waiting.map_err(|not_sent| match not_sent {
            NotSent::Full(why) => AskError::Refused { name: name(), why },
            NotSent::Ended(why) => AskError::Unreachable { name: name(), why },
        })?;
        match codec.answer {
            Answering::Later(wait) => Ok(wait(name(), waiting)),
            Answering::Now(read) => match tokio::time::timeout(deadline, waiting).await {
                Ok(outcome) => answered(name(), outcome, read),
                Err(_) => Err(AskError::Deadline { name: name(), deadline }),
            },
        }
    }

    pub(crate) async fn stopped(&self) -> Stopped {
        let why = match self.line.ask(|id| wire::watch(id, &self.name)) {
            Ok(waiting) => match waiting.await {
                Outcome::Stopped(why) => why,
                outcome => match answered(self.status.name().to_owned(), outcome, |_| Ok(())) {
                    Err(AskError::Unreachable { why, .. } | AskError::Refused { why, .. }) => {
                        Stopped::Unreachable(why)
                    }
                    other => Stopped::Unreachable(format!("a watch was answered by {other:?}")),
                },
            },
            Err(NotSent::Full(why) | NotSent::Ended(why)) => Stopped::Unreachable(why),
        };
        self.status.stop(why.clone());
        why
    }
}

/// What an ask is worth once something has come of it.
pub(crate) fn answered<T>(
    name: String,
    outcome: Outcome,
    read: fn(Letter) -> Result<T, String>,
) -> Result<T, AskError> {
    let why = match outcome {
        Outcome::Answer(letter) => {
            return read(letter)
                .map_err(|why| AskError::Refused { name, why: format!("its answer cannot be read: {why}") });
        }
        Outcome::Lost(why) => return Err(AskError::Unreachable { name, why }),
        Outcome::Stopped(why) => Why::Stopped(why),
        Outcome::Failure(why) => why,
    };
    Err(match why {
        Why::Full(bound) => AskError::Full { name, bound: usize::try_from(bound).unwrap_or(usize::MAX) },
        Why::Panicked(cause) => AskError::Panicked { name, cause },
        Why::Stopped(why) => AskError::Stopped { name, why },
        Why::Dropped => AskError::Dropped { name },
        Why::Refused(why) => AskError::Refused { name, why },
    })
}

fn unlisted<M>() -> String {
    format!("{} is not among what the actor's `Remote::accepts` lists", type_name::<M>())
}
