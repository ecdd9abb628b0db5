//! Which messages an actor takes from other nodes.

use crate::body::{self, Body, Letter};
use crate::errand::Errand;
use crate::line::Waiting;
use crate::panics::caught;
use crate::there::answered;
use crate::wire::Why;
use crate::{Actor, ActorRef, Handler, Message, Reply};
use std::any::{Any, TypeId};

/// An actor that other nodes may send messages to. Both ends have the same list, from the same type.
pub trait Remote: Actor {
    /// Enters the messages it takes from other nodes, each by a name of its own, such as `refill`.
    fn accepts(list: &mut Accepts<Self>);
}

/// The messages an actor takes from other nodes.
pub struct Accepts<A: Actor> {
    kinds: Vec<Kind<A>>,
}

/// One kind of message: how this side's own travel, and how those of others are handed to the actor.
pub(crate) struct Kind<A: Actor> {
    pub(crate) name: &'static str,
    message: TypeId,
    codec: Box<dyn Any + Send + Sync>,
    pub(crate) deliver: fn(&ActorRef<A>, Letter, Errand),
}

/// How messages of a type travel, and their answers.
pub(crate) struct Codec<M: Message> {
    pub(crate) kind: &'static str,
    pub(crate) write: fn(&mut M) -> Result<Letter, String>,
    pub(crate) answer: Answering<M>,
}

/// How an answer comes.
pub(crate) enum Answering<M: Message> {
    /// It ends the ask.
    Now(fn(Letter) -> Result<M::Reply, String>),
    /// The ask ends at once, with something to wait on.
    Later(fn(String, Waiting) -> M::Reply),
}

impl<A: Remote> Accepts<A> {
    pub(crate) fn of() -> Self {
        let mut list = Self { kinds: Vec::new() };
        A::accepts(&mut list);
        list
    }
}

impl<A: Actor> Accepts<A> {
    /// Takes messages of type `M`, called `kind` on the wire.
    pub fn message<M>(&mut self, kind: &'static str) -> &mut Self
    where
        A: Handler<M>,
        M: Message + Body,
        M::Reply: Body,
    {
        let codec =
            Codec::<M> { kind, write: body::write::<M>, answer: Answering::Now(body::read::<M::Reply>) };
        self.enter(codec, |actor, letter, errand| deliver(actor, letter, errand, answer::<M::Reply>))
    }

    /// Takes messages of type `M`, called `kind` on the wire, which are answered by a [`Reply`]: asking ends at once,
    /// and the answer travels when it is there.
    pub fn later<M, T>(&mut self, kind: &'static str) -> &mut Self
    where
        A: Handler<M>,
        M: Message<Reply = Reply<T>> + Body,
        T: Body,
    {
        let wait = |name: String, waiting: Waiting| {
            let to = name.clone();
            Reply::there(to, async move { answered(name, waiting.await, body::read::<T>) })
        };
        let codec = Codec::<M> { kind, write: body::write::<M>, answer: Answering::Later(wait) };
        self.enter(codec, |actor, letter, errand| {
            deliver(actor, letter, errand, |reply, errand| errand.answer_later(reply, answer::<T>));
        })
    }

    fn enter<M: Message>(&mut self, codec: Codec<M>, deliver: fn(&ActorRef<A>, Letter, Errand)) -> &mut Self {
        let message = TypeId::of::<M>();
        self.kinds.push(Kind { name: codec.kind, message, codec: Box::new(codec), deliver });
        self
    }

    pub(crate) fn kind(&self, name: &str) -> Option<&Kind<A>> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|kind| kind.name)
    }

    /// The part of it that this side needs to send.
    pub(crate) fn codecs(self) -> Codecs {
        Codecs(self.kinds.into_iter().map(|kind| (kind.message, kind.codec)).collect())
    }
}

/// How messages travel, by their types.
pub(crate) struct Codecs(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl Codecs {
    pub(crate) fn of<M: Message>(&self) -> Option<&Codec<M>> {
        let message = TypeId::of::<M>();
        let (_, codec) = self.0.iter().find(|(of, _)| *of == message)?;
        codec.downcast_ref()
    }
}

fn deliver<A, M>(actor: &ActorRef<A>, letter: Letter, errand: Errand, answer: fn(M::Reply, Errand))
where
    A: Handler<M>,
    M: Message + Body,
{
    // Reading is the user's code as well.
    match caught(|| body::read::<M>(letter)) {
        Ok(Ok(message)) => actor.serve(message, errand, answer),
        Ok(Err(why)) | Err(why) => errand.fail(Why::Refused(format!("the message cannot be read: {why}"))),
    }
}

fn answer<T: Body>(mut reply: T, errand: Errand) {
    if !errand.is_asked() {
        return;
    }
    match caught(|| body::write(&mut reply)) {
        Ok(Ok(letter)) => errand.answer(letter),
        Ok(Err(why)) | Err(why) => errand.fail(Why::Refused(format!("its answer cannot be written: {why}"))),
    }
}
