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
            .later::<StartHost, StartAnswer>("start-host")
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
    Follow,
    StopJob,
    StopAnswer,
    ListJobs,
    ActorsOf,
    StartHost,
    StartAnswer,
    EndHost,
    HostNews,
    NewsAnswer,
    Enlist,
    HostProgress,
    HostDone,
    StopHost,
    ListActors,
    HostActors,
);

/// Lists that are more than a header holds travel beside it, each as a part. `$here` is where they lie in a message
/// that has them; others have no parts.
macro_rules! listed {
    ($($body:ty: $here:pat => $($list:expr),+;)*) => { $(
        impl Body for $body {
            fn take_parts(&mut self) -> Vec<Vec<u8>> {
                match self {
                    // Strings and numbers can always be written.
                    $here => vec![$(serde_json::to_vec(&std::mem::take(&mut $list)).unwrap_or_default()),+],
                    #[allow(unreachable_patterns)]
                    _ => Vec::new(),
                }
            }

            fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
                let mut parts = parts.into_iter();
                match self {
                    $here => { $($list = list(stringify!($list), parts.next())?;)+ }
                    #[allow(unreachable_patterns)]
                    _ => {}
                }
                parts.next().map_or(Ok(()), |_| Err("a part too many".into()))
            }
        }
    )* };
}

listed!(
    ActorRows: rows => rows.processes;
    JobRows: rows => rows.jobs, rows.silent;
    Nodes: answer => answer.nodes;
    NodeStatus: status => status.declined, status.events;
    Assign: message => message.assignment.hosts;
    Enlisted: Enlisted::Assigned(assignment) => assignment.hosts;
    RunAnswer: RunAnswer::Placed { nodes, .. } => *nodes;
    News: News::Of(news) => news.lines, news.job.nodes;
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
    use crate::protocol::Work;
    use crate::protocol::hosts::{Assignment, HostSpot, JobKey};
    use crate::protocol::jobs::{JobNews, JobRow, JobState, LogLine};

    /// Takes the lists out, looks whether the rest fits into a header, and puts them back.
    fn travels<B: Body + Clone + PartialEq + std::fmt::Debug>(mut body: B) {
        let whole = body.clone();
        let parts = body.take_parts();
        let header = dae_net::header_of(&body).expect("it can be written").len();
        // What names message, sender and deadline has room, too.
        let most = dae_net::Limits::default().header_bytes as usize - (4 << 10);
        assert!(header <= most, "{header} bytes of header");
        body.give_parts(parts).expect("its own");
        assert_eq!(body, whole);
        body.take_parts();
        assert!(body.give_parts(vec![Vec::new(); 9]).is_err(), "parts that are none of its");
    }

    #[test]
    fn a_job_of_a_thousand_hosts_travels() {
        let name = |n: usize| format!("{n:0>64}");
        let nodes: Vec<_> = (0..1_000).map(name).collect();
        let spot = |node: &String| HostSpot {
            node: node.clone(),
            identity: [255; 32],
            addresses: vec!["[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:65535".parse().expect("one"); 16],
            program_sha256: "f".repeat(64),
        };
        let assignment = Assignment {
            index: 999,
            hosts: nodes.iter().map(spot).collect(),
            work: Work::Train("t".repeat(32 << 10)),
            run_dir: Some("p".repeat(4096).into()),
            resume: true,
            job_key: JobKey([255; 32]),
        };
        travels(Enlisted::Assigned(Box::new(assignment.clone())));
        travels(Enlisted::Refused { why: "too late".into() });
        travels(Assign { job: name(1), assignment });
        travels(RunAnswer::Placed { job: name(1), nodes: nodes.clone() });
        let line = LogLine { number: 1, nodes: nodes.clone(), text: "x".repeat(8_000) };
        let job = JobRow {
            job: name(1),
            home: name(2),
            nodes,
            state: JobState::Running,
            progress: None,
            run_dir: None,
            age_ms: 1,
        };
        travels(News::Of(Box::new(JobNews { lines: vec![line; 5], missed: 0, next: 5, more: false, job })));
    }

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
