//! The messages about jobs and hosts as they travel.

use super::Jobs;
use crate::protocol::hosts::{Enlist, Enlisted, HostActors, HostDone, HostProgress, ListActors, StopHost};
use crate::protocol::jobs::{
    ActorRows, ActorsOf, Assign, EndHost, Follow, HostNews, JobRows, ListJobs, News, NewsAnswer, RunAnswer,
    RunJob, StartAnswer, StartHost, StopAnswer, StopJob,
};
use crate::protocol::{NodeStatus, Nodes};
use crate::{HostActor, NodeActor};
use dae_actor::{Accepts, Body, Remote};
use serde::de::DeserializeOwned;

/// The most bytes that a list about a whole cluster may take.
const LIST: usize = 16 << 20;

impl Jobs {
    /// The messages about jobs and hosts that a daemon takes.
    pub(crate) fn accepts(list: &mut Accepts<NodeActor>) {
        list.later::<RunJob, RunAnswer>("run-job")
            .later::<Follow, News>("follow")
            .later::<StopJob, StopAnswer>("stop-job")
            .later::<ListJobs, JobRows>("list-jobs")
            .later::<ActorsOf, ActorRows>("actors-of")
            .message::<StartHost>("start-host")
            .message::<Assign>("assign")
            .message::<EndHost>("end-host")
            .message::<HostNews>("host-news")
            .later::<Enlist, Enlisted>("enlist")
            .message::<HostProgress>("host-progress")
            .message::<HostDone>("host-done");
    }
}

impl Remote for HostActor {
    fn accepts(list: &mut Accepts<Self>) {
        list.message::<StopHost>("stop-host").message::<ListActors>("list-actors");
    }
}

macro_rules! plain {
    ($($body:ty),* $(,)?) => { $(impl Body for $body {})* };
}

plain!(
    RunJob,
    RunAnswer,
    Follow,
    News,
    StopJob,
    StopAnswer,
    ListJobs,
    ActorsOf,
    StartHost,
    StartAnswer,
    Assign,
    EndHost,
    HostNews,
    NewsAnswer,
    Enlist,
    Enlisted,
    HostProgress,
    HostDone,
    StopHost,
    ListActors,
    HostActors,
);

/// Lists that are more than a header holds travel beside it, each as a part.
macro_rules! listed {
    ($($body:ty: $($list:ident),+;)*) => { $(
        impl Body for $body {
            fn take_parts(&mut self) -> Vec<Vec<u8>> {
                // Strings and numbers can always be written.
                vec![$(serde_json::to_vec(&std::mem::take(&mut self.$list)).unwrap_or_default()),+]
            }

            fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
                let mut parts = parts.into_iter();
                $(self.$list = list(stringify!($list), parts.next())?;)+
                parts.next().map_or(Ok(()), |_| Err("a part too many".into()))
            }
        }
    )* };
}

listed!(
    ActorRows: processes;
    JobRows: jobs, silent;
    Nodes: nodes;
    NodeStatus: declined, events;
);

fn list<T: DeserializeOwned>(name: &str, part: Option<Vec<u8>>) -> Result<Vec<T>, String> {
    let part = part.ok_or_else(|| format!("the part of {name} is missing"))?;
    if part.len() > LIST {
        return Err(format!("{} bytes of {name}, at most {LIST} are read", part.len()));
    }
    serde_json::from_slice(&part).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_travel_beside_the_message() {
        let silent: Vec<_> = (0..2_000).map(|n| format!("n{n}: it does not answer in time")).collect();
        let mut rows = JobRows { jobs: Vec::new(), silent: silent.clone() };
        let parts = rows.take_parts();
        assert_eq!((parts.len(), rows.silent.len()), (2, 0));
        rows.give_parts(parts.clone()).expect("its own");
        assert_eq!(rows.silent, silent);
        let missing = rows.give_parts(parts[..1].to_vec()).expect_err("one is missing");
        assert!(missing.contains("silent"), "{missing}");
        assert!(rows.give_parts([&parts[..], &parts[..1]].concat()).is_err());
        assert!(rows.give_parts(vec![vec![b' '; LIST + 1]; 2]).is_err());
    }
}
