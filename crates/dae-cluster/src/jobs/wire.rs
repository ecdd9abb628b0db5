//! The messages about jobs and hosts as they travel.

use super::Jobs;
use crate::protocol::hosts::{Enlist, Enlisted, HostActors, HostDone, HostProgress, ListActors, StopHost};
use crate::protocol::jobs::{
    ActorRows, ActorsOf, Assign, EndHost, Follow, HostNews, JobRows, ListJobs, News, NewsAnswer, RunAnswer,
    RunJob, StartAnswer, StartHost, StopAnswer, StopJob,
};
use crate::{HostActor, NodeActor};
use dae_actor::{Accepts, Body, Remote};

/// The most bytes that the actors of a whole cluster may take.
const ACTORS: usize = 16 << 20;

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
    JobRows,
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

/// The actors of many processes are more than a header holds: they travel as a part, JSON.
impl Body for ActorRows {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        // Strings and numbers can always be written.
        vec![serde_json::to_vec(&std::mem::take(&mut self.processes)).unwrap_or_default()]
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        let [part] =
            <[Vec<u8>; 1]>::try_from(parts).map_err(|parts| format!("{} parts, not one", parts.len()))?;
        if part.len() > ACTORS {
            return Err(format!("{} bytes of actors, at most {ACTORS} are read", part.len()));
        }
        self.processes = serde_json::from_slice(&part).map_err(|error| error.to_string())?;
        Ok(())
    }
}
