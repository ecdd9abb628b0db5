//! Jobs that were started from this node: placed, begun, and led to their end.

use super::HomeJob;
use super::engine::{Action, Engine, Input, Order};
use super::questions::answer;
use crate::placement::place;
use crate::protocol::NodeInfo;
use crate::protocol::hosts::JobKey;
use crate::protocol::jobs::{
    Assign, EndHost, HostNews, NewsAnswer, RunAnswer, RunJob, StartAnswer, StartHost,
};
use crate::{NodeActor, check_name};
use dae_actor::{ActorRef, Context, Handler, Message, Reply, reply};
use dae_net::to_hex;
use std::io::Read;
use std::time::{Duration, Instant};
use tokio::time::sleep_until;

/// Jobs of one home at most, at a time.
const MOST_JOBS: usize = 64;
/// Jobs that have ended and are remembered.
const REMEMBERED: usize = 32;
/// Bytes of the logs of all jobs that have ended; those of the latest come first.
const ENDED_LOGS: usize = 16 << 20;
/// Bytes of any log that are kept, however many came after it.
const LEAST_LOG: usize = 64 << 10;
/// The longest path, in bytes: the kernel's bound.
const PATH: usize = 4096;
/// Names of nodes in a demand at most.
const NAMES: usize = 256;
/// The longest grace.
const GRACE: Duration = Duration::from_secs(3_600);
/// How long a daemon may take to answer.
const ANSWER: Duration = Duration::from_secs(10);
/// How often time is told to the jobs.
const TICK: Duration = Duration::from_millis(100);

impl Handler<RunJob> for NodeActor {
    fn handle(&mut self, run: RunJob, context: &mut Context<'_, Self>) -> Reply<RunAnswer> {
        let (to, reply) = reply(Self::NAME);
        if let Err(why) = self.may_run(&run) {
            to.send(RunAnswer::Refused { why });
            return reply;
        }
        context.spawn(self.survey(), move |node, nodes, context| {
            to.send(node.begin_job(run, &nodes, context).unwrap_or_else(|why| RunAnswer::Refused { why }));
        });
        reply
    }
}

impl Handler<HostNews> for NodeActor {
    fn handle(&mut self, mut news: HostNews, context: &mut Context<'_, Self>) -> NewsAnswer {
        let now = Instant::now();
        let Some(job) = self.jobs.homes.get_mut(&news.job).filter(|job| !job.engine.is_over()) else {
            return NewsAnswer::Unknown;
        };
        if !job.hears(&news) {
            return NewsAnswer::Taken;
        }
        job.write(news.index, &news.lines, news.dropped, now);
        // JSON knows no other numbers.
        job.progress = news.progress.filter(|now| now.samples_per_s.is_finite()).or(job.progress);
        let index = news.index as usize;
        let inputs = [
            news.enlisted.take().map(|enlist| Input::Enlisted(index, Box::new(enlist))),
            news.outcome.take().map(|outcome| Input::Done(index, outcome)),
            news.exited.take().map(|how| Input::Exited(index, how)),
        ];
        for input in inputs.into_iter().flatten() {
            self.input(&news.job, input, context);
        }
        if let Some(job) = self.jobs.homes.get_mut(&news.job) {
            job.tell();
        }
        NewsAnswer::Taken
    }
}

impl NodeActor {
    fn may_run(&self, run: &RunJob) -> Result<(), String> {
        if self.jobs.leaving {
            return Err(format!("{} is leaving the cluster", self.me.name));
        }
        run.work.check()?;
        if !run.host.is_absolute() {
            return Err(format!("the host program {} is not an absolute path", run.host.display()));
        }
        if run.run_dir.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err("the run folder is not an absolute path".into());
        }
        if run.run_dir.as_ref().is_some_and(|path| path.as_os_str().len() > PATH) {
            return Err(format!("the path of the run folder is longer than {PATH} bytes"));
        }
        if run.demand.only.len() > NAMES {
            return Err(format!("placement.nodes has more than {NAMES} names"));
        }
        let live = self.jobs.homes.values().filter(|job| !job.engine.is_over()).count();
        if live >= MOST_JOBS {
            return Err(format!(
                "{} is home to {live} jobs already: end some, or start it on another node",
                self.me.name
            ));
        }
        Ok(())
    }

    fn begin_job(
        &mut self,
        run: RunJob,
        nodes: &[NodeInfo],
        context: &mut Context<'_, Self>,
    ) -> Result<RunAnswer, String> {
        let now = Instant::now();
        let placed = place(&run.demand, &self.me.name, nodes).map_err(|error| error.to_string())?;
        let secret = || random().map_err(|error| format!("no random numbers from the system: {error}"));
        let job = self.new_id(&run.name, &secret()?);
        let order = Order {
            nodes: placed.clone(),
            work: run.work,
            run_dir: run.run_dir,
            resume: run.resume,
            job_key: JobKey(secret()?),
            grace: Duration::from_millis(run.grace_ms).min(GRACE),
        };
        let tokens: Vec<String> =
            placed.iter().map(|_| secret().map(|s| to_hex(&s))).collect::<Result<_, _>>()?;
        self.forget_old();
        let home = HomeJob::new(job.clone(), self.me.name.clone(), Engine::new(order, now), now);
        self.jobs.homes.insert(job.clone(), home);
        tracing::info!(job, nodes = placed.join(","), "job started");
        for (index, token) in tokens.into_iter().enumerate() {
            let start = StartHost {
                job: job.clone(),
                home: self.me.name.clone(),
                index: u32::try_from(index).unwrap_or(u32::MAX),
                token,
                program: run.host.clone(),
                cwd: run.cwd.clone(),
                threads: run.demand.workers_per_node.saturating_mul(run.demand.threads_per_worker),
            };
            let asked = answer(self.host_node(&job, index, context), start, ANSWER);
            let job = job.clone();
            context.spawn(asked, move |actor, answer, context| match answer {
                Ok(StartAnswer::Started { .. }) => {}
                Ok(StartAnswer::Refused { why }) => {
                    actor.input(&job, Input::NotStarted(index, why), context);
                }
                Err(why) => actor.input(&job, Input::Unconfirmed(index, why), context),
            });
        }
        self.tick_jobs(context);
        Ok(RunAnswer::Placed { job, nodes: placed })
    }

    /// Tells the job's engine, and does what it says.
    pub(super) fn input(&mut self, job: &str, input: Input, context: &mut Context<'_, Self>) {
        let now = Instant::now();
        let Some(home) = self.jobs.homes.get_mut(job) else { return };
        let before = home.engine.state();
        let was_over = home.engine.is_over();
        let actions = home.engine.take(input, now);
        let state = home.engine.state();
        let ended = home.engine.is_over() && !was_over;
        if ended {
            home.log.close();
            tracing::info!(job, outcome = ?state, "job ended");
        }
        if state != before {
            home.tell();
        }
        if ended {
            bound_logs(self.jobs.homes.values_mut());
        }
        for action in actions {
            match action {
                Action::Assign(index, assignment) => {
                    let assign = Assign { job: job.into(), assignment: *assignment };
                    self.ask_host(job, index, assign, context, move |answer| {
                        answer.err().map(|why| Input::Unconfirmed(index, why))
                    });
                }
                Action::End { index, why, kill } => {
                    // One that does not hear it is told again, and given up at last: by the engine.
                    let end = EndHost { job: job.into(), why, kill };
                    self.ask_host(job, index, end, context, move |answer| {
                        answer.ok().filter(|()| kill).map(|()| Input::KillHeard(index))
                    });
                }
            }
        }
    }

    /// The daemon of a job's host.
    fn host_node(&self, job: &str, index: usize, context: &Context<'_, Self>) -> Option<ActorRef<Self>> {
        self.reach(self.jobs.homes.get(job)?.engine.order().nodes.get(index)?, context)
    }

    /// Asks the daemon of a job's host, and tells the engine what comes of it.
    fn ask_host<M: Message>(
        &mut self,
        job: &str,
        index: usize,
        message: M,
        context: &mut Context<'_, Self>,
        then: impl FnOnce(Result<M::Reply, String>) -> Option<Input> + 'static,
    ) where
        Self: Handler<M>,
    {
        let there = self.host_node(job, index, context);
        let asked = async move {
            match there {
                Some(there) => there.ask(message, ANSWER).await.map_err(|error| error.to_string()),
                None => Err("there is no connection to it".into()),
            }
        };
        let job = job.to_owned();
        context.spawn(asked, move |actor, answer, context| {
            if let Some(input) = then(answer) {
                actor.input(&job, input, context);
            }
        });
    }

    /// Tells the jobs the time, as long as it matters to one.
    pub(super) fn tick_jobs(&mut self, context: &mut Context<'_, Self>) {
        if self.jobs.ticks || !self.jobs.homes.values().any(HomeJob::lives) {
            return;
        }
        self.jobs.ticks = true;
        context.spawn(sleep_until((Instant::now() + TICK).into()), |node, (), context| {
            node.jobs.ticks = false;
            for job in node.jobs.homes.keys().cloned().collect::<Vec<_>>() {
                node.input(&job, Input::Tick, context);
            }
            let now = Instant::now();
            node.jobs.homes.values_mut().for_each(|home| home.time(now));
            node.tick_jobs(context);
        });
    }

    /// Forgets the oldest jobs that have ended.
    fn forget_old(&mut self) {
        let ended = self.jobs.homes.values().filter(|home| !home.lives());
        let mut ended: Vec<_> = ended.map(|home| (home.began, home.job.clone())).collect();
        ended.sort();
        for (_, job) in ended.iter().take((ended.len() + 1).saturating_sub(REMEMBERED)) {
            self.jobs.homes.remove(job);
        }
    }

    /// The job's name and something that makes it the only one.
    fn new_id(&self, name: &str, random: &[u8; 32]) -> String {
        let mut name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
        if check_name("job", &name).is_err() {
            name = "job".into();
        }
        let taken = |id: &String| self.jobs.homes.contains_key(id) || self.jobs.hosts.contains_key(id);
        let letters = letters(random);
        // 35 bits; more of them where a job of this name has those.
        let mut ids = (7..letters.len()).map(|many| format!("{name}-{letters:.many$}"));
        ids.find(|id| !taken(id)).unwrap_or_else(|| format!("{name}-{letters}"))
    }
}

/// Random bytes as letters and digits that are easy to type and hard to take for each other, 5 bits each (Crockford's
/// base 32).
fn letters(random: &[u8]) -> String {
    const EASY: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    random.iter().map(|byte| char::from(EASY[usize::from(byte % 32)])).take(20).collect()
}

/// Bounds what the logs of jobs that have ended take together.
fn bound_logs<'a>(homes: impl Iterator<Item = &'a mut HomeJob>) {
    let mut ended: Vec<_> = homes.filter(|home| home.engine.is_over()).collect();
    ended.sort_by_key(|home| std::cmp::Reverse(home.began));
    let mut left = ENDED_LOGS;
    for home in ended {
        home.log.shrink(left.max(LEAST_LOG));
        left = left.saturating_sub(home.log.bytes());
    }
}

fn random() -> std::io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Work;

    #[test]
    fn the_logs_of_ended_jobs_are_bounded_together_and_the_latest_keep_most() {
        let start = Instant::now();
        let homes = (0..REMEMBERED as u64).map(|number| {
            let now = start + Duration::from_secs(number);
            let order = Order {
                nodes: vec!["n1".into()],
                work: Work::Train(String::new()),
                run_dir: None,
                resume: false,
                job_key: JobKey([0; 32]),
                grace: GRACE,
            };
            let mut home = HomeJob::new(format!("j{number}"), "n1".into(), Engine::new(order, now), now);
            let line = "x".repeat(2_000);
            (0..1_500).for_each(|_| home.log.push("n1", &line, now));
            home.engine.take(Input::NotStarted(0, "x".into()), now);
            home
        });
        let mut homes: Vec<_> = homes.collect();
        let whole = homes[0].log.bytes();
        bound_logs(homes.iter_mut());
        let bytes: Vec<_> = homes.iter().map(|home| home.log.bytes()).collect();
        assert!(bytes.iter().sum::<usize>() <= ENDED_LOGS + REMEMBERED * LEAST_LOG, "{bytes:?}");
        assert_eq!(bytes[REMEMBERED - 1], whole, "the latest");
        assert!(bytes[0] > LEAST_LOG / 2, "the oldest keeps its end");
    }

    #[test]
    fn ids_are_of_letters_that_nobody_takes_for_others() {
        let letters = letters(&std::array::from_fn::<u8, 32, _>(|at| (at * 37) as u8));
        assert_eq!(letters, "05afmsy38djqw16bgntz");
    }
}
