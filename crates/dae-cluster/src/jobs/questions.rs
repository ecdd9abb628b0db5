//! Questions about jobs and actors, wherever they are: a daemon that does not know asks the others.

use crate::NodeActor;
use crate::protocol::hosts::{ActorLine, ListActors};
use crate::protocol::jobs::{
    ActorRows, ActorsOf, Follow, JobRows, ListJobs, Missing, News, ProcessActors, StopAnswer, StopJob,
};
use dae_actor::{ActorRef, Context, Handler, Message, Reply, ReplyTo, reply};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

use super::engine::Input;

/// How long other daemons may take to answer: longer than a follower waits.
const OTHERS: Duration = Duration::from_secs(3);
/// How long a host may take to list its actors.
const HOSTS: Duration = Duration::from_secs(1);
/// Homes of jobs that are remembered.
const FOUND: usize = 256;

impl Handler<Follow> for NodeActor {
    fn handle(&mut self, message: Follow, context: &mut Context<'_, Self>) -> Reply<News> {
        let (to, reply) = reply(Self::NAME);
        match self.jobs.homes.get_mut(&message.job) {
            Some(home) => {
                home.follow(message.after, message.now, to, Instant::now());
                self.tick_jobs(context);
            }
            None => {
                let job = message.job.clone();
                self.pass_on(job, message, to, News::Missing, context);
            }
        }
        reply
    }
}

impl Handler<StopJob> for NodeActor {
    fn handle(&mut self, message: StopJob, context: &mut Context<'_, Self>) -> Reply<StopAnswer> {
        let (to, reply) = reply(Self::NAME);
        match self.jobs.homes.get(&message.job).map(|home| home.engine.is_over()) {
            Some(true) => to.send(StopAnswer::Over),
            Some(false) => {
                let why = crate::logs::plain(message.why.as_bytes());
                self.input(&message.job, Input::Stop { why, now: message.now }, context);
                to.send(StopAnswer::Stopping);
            }
            None => {
                let job = message.job.clone();
                self.pass_on(job, message, to, StopAnswer::Missing, context);
            }
        }
        reply
    }
}

impl Handler<ListJobs> for NodeActor {
    fn handle(&mut self, message: ListJobs, context: &mut Context<'_, Self>) -> Reply<JobRows> {
        let (to, reply) = reply(Self::NAME);
        let mut homes: Vec<_> = self.jobs.homes.values().collect();
        homes.sort_by_key(|home| home.began);
        let mut rows =
            JobRows { jobs: homes.into_iter().map(|home| home.row()).collect(), silent: Vec::new() };
        if message.everywhere {
            self.ask_others(ListJobs { everywhere: false }, context, move |answers, _, _| {
                merge(&mut rows, answers);
                rows.jobs.sort_by_key(|row| std::cmp::Reverse(row.age_ms));
                to.send(rows);
            });
        } else {
            to.send(rows);
        }
        reply
    }
}

impl Handler<ActorsOf> for NodeActor {
    fn handle(&mut self, message: ActorsOf, context: &mut Context<'_, Self>) -> Reply<ActorRows> {
        let (to, reply) = reply(Self::NAME);
        let here = self.actors_here(context);
        if message.everywhere {
            self.ask_others(ActorsOf { everywhere: false }, context, move |answers, _, context| {
                context.spawn(here, move |_, mut rows, _| {
                    merge(&mut rows, answers);
                    rows.processes.sort_by(|a, b| (&a.node, &a.job).cmp(&(&b.node, &b.job)));
                    to.send(rows);
                });
            });
        } else {
            context.spawn(here, move |_, rows, _| to.send(rows));
        }
        reply
    }
}

/// What other nodes answered, each by its name.
type Answers<T> = Vec<(String, Result<T, String>)>;

/// What every node tells of itself, together with those that did not.
trait Rows {
    fn add(&mut self, there: Self);
    fn silent(&mut self) -> &mut Vec<String>;
}

impl Rows for JobRows {
    fn add(&mut self, there: Self) {
        self.jobs.extend(there.jobs);
        self.silent.extend(there.silent);
    }

    fn silent(&mut self) -> &mut Vec<String> {
        &mut self.silent
    }
}

impl Rows for ActorRows {
    fn add(&mut self, there: Self) {
        self.processes.extend(there.processes);
        self.silent.extend(there.silent);
    }

    fn silent(&mut self) -> &mut Vec<String> {
        &mut self.silent
    }
}

fn merge<R: Rows>(rows: &mut R, answers: Answers<R>) {
    for (node, answer) in answers {
        match answer {
            Ok(there) => rows.add(there),
            Err(why) => rows.silent().push(format!("{node}: {why}")),
        }
    }
}

impl NodeActor {
    /// The actors of this daemon and its hosts.
    fn actors_here(&self, context: &Context<'_, Self>) -> impl Future<Output = ActorRows> + 'static + use<> {
        let me = context.me();
        let status = me.status();
        let own = ActorLine {
            name: status.name().into(),
            kind: <Self as dae_actor::Actor>::KIND.into(),
            depth: status.depth() as u64,
            bound: status.bound() as u64,
            restarts: status.panics(),
            state: "running".into(),
        };
        let node = self.me.name.clone();
        let daemon =
            ProcessActors { node: node.clone(), job: None, pid: std::process::id(), actors: vec![own] };
        let hosts = self.jobs.hosts.iter().filter_map(|(job, host)| {
            Some((job.clone(), host.process.id(), host.link.clone().filter(|_| host.process.runs())?))
        });
        let hosts: Vec<_> = hosts.collect();
        async move {
            let mut asks = JoinSet::new();
            for (job, pid, host) in hosts {
                asks.spawn_local(async move { (job, pid, host.ask(ListActors {}, HOSTS).await) });
            }
            let mut rows = ActorRows { processes: vec![daemon], silent: Vec::new() };
            while let Some(answer) = asks.join_next().await {
                match answer {
                    Ok((job, pid, Ok(host))) => {
                        let process =
                            ProcessActors { node: node.clone(), job: Some(job), pid, actors: host.actors };
                        rows.processes.push(process);
                    }
                    Ok((job, _, Err(why))) => rows.silent.push(format!("{job} on {node}: {why}")),
                    // A question that panicked: its host is missing.
                    Err(error) => rows.silent.push(error.to_string()),
                }
            }
            rows.processes.sort_by(|a, b| a.job.cmp(&b.job));
            rows
        }
    }

    /// Asks all other nodes side by side.
    fn ask_others<M, T>(
        &mut self,
        message: M,
        context: &mut Context<'_, Self>,
        then: impl FnOnce(Answers<T>, &mut Self, &mut Context<'_, Self>) + 'static,
    ) where
        M: Message<Reply = Reply<T>> + Clone,
        Self: Handler<M>,
        T: Send + 'static,
    {
        context.spawn(self.survey(), move |node, nodes, context| {
            let mut asks = JoinSet::new();
            for name in nodes.into_iter().map(|node| node.name).filter(|name| *name != node.me.name) {
                let there = node.node(&name);
                let message = message.clone();
                asks.spawn_local(async move { (name, answer(there, message, OTHERS).await) });
            }
            let answers = async move {
                let mut answers = asks.join_all().await;
                answers.sort_by(|a, b| a.0.cmp(&b.0));
                answers
            };
            context.spawn(answers, move |node, answers, context| then(answers, node, context));
        });
    }

    /// Passes a question about a job that is not this node's to its home, if there is one.
    fn pass_on<M, T>(
        &mut self,
        job: String,
        message: M,
        to: ReplyTo<T>,
        missing: impl FnOnce(Missing) -> T + 'static,
        context: &mut Context<'_, Self>,
    ) where
        M: Message<Reply = Reply<T>>,
        Self: Handler<M>,
        T: Send + 'static,
    {
        let host = self.jobs.hosts.get(&job).map(|host| host.start.home.clone());
        let known = host.or_else(|| self.jobs.found.get(&job).cloned()).filter(|home| *home != self.me.name);
        if let Some(home) = known {
            return self.pass_to(job, home, message, to, missing, context);
        }
        self.ask_others::<ListJobs, JobRows>(
            ListJobs { everywhere: false },
            context,
            move |answers, node, context| {
                let has = |answer: &Result<JobRows, String>| {
                    answer.as_ref().is_ok_and(|rows| rows.jobs.iter().any(|row| row.job == job))
                };
                if let Some((home, _)) = answers.iter().find(|(_, answer)| has(answer)) {
                    return node.pass_to(job, home.clone(), message, to, missing, context);
                }
                let silent = answers
                    .iter()
                    .filter_map(|(node, answer)| Some(format!("{node}: {}", answer.as_ref().err()?)));
                let silent: Vec<_> = silent.collect();
                to.send(missing(if silent.is_empty() {
                    Missing::Unknown { why: format!("no node knows a job {job}; see `dae-node jobs`") }
                } else {
                    let silent = silent.join("; ");
                    let why =
                        format!("no node that answers knows a job {job}, and these did not answer: {silent}");
                    Missing::Unreachable { why }
                }));
            },
        );
    }

    fn pass_to<M, T>(
        &mut self,
        job: String,
        home: String,
        message: M,
        to: ReplyTo<T>,
        missing: impl FnOnce(Missing) -> T + 'static,
        context: &mut Context<'_, Self>,
    ) where
        M: Message<Reply = Reply<T>>,
        Self: Handler<M>,
        T: Send + 'static,
    {
        if self.jobs.found.len() >= FOUND {
            self.jobs.found.clear();
        }
        self.jobs.found.insert(job.clone(), home.clone());
        context.spawn(answer(self.node(&home), message, OTHERS), move |node, answer, _| {
            let answer = answer.unwrap_or_else(|why| {
                node.jobs.found.remove(&job);
                let why = format!("the home of {job}, {home}, does not answer: {why}");
                missing(Missing::Unreachable { why })
            });
            to.send(answer);
        });
    }
}

/// What another daemon says to a question that it answers in a later turn, or why there is no answer.
pub(super) async fn answer<M, T>(
    there: Option<ActorRef<NodeActor>>,
    message: M,
    patience: Duration,
) -> Result<T, String>
where
    M: Message<Reply = Reply<T>>,
    NodeActor: Handler<M>,
    T: Send + 'static,
{
    let there = there.ok_or("there is no connection to it")?;
    let reply = there.ask(message, patience).await.map_err(|error| error.to_string())?;
    reply.within(patience).await.map_err(|error| error.to_string())
}
