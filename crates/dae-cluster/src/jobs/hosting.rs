//! A daemon looks after the hosts it started: starts them, hands on what they say, ends them.

use super::{LocalHost, Outbox};
use crate::host_process::HostProcess;
use crate::protocol::BulkPlace;
use crate::protocol::hosts::{Enlist, Enlisted, HostDone, HostProgress};
use crate::protocol::jobs::{Assign, EndHost, HostNews, NewsAnswer, StartAnswer, StartHost};
use crate::{HostActor, NodeActor, check_name};
use dae_actor::{ActorRef, Context, Handler, Message, Reply, ReplyTo, reply};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::time::sleep_until;

/// Hosts of one daemon at most.
const MOST_HOSTS: usize = 64;
/// Characters of a SHA-256 in hex.
const SHA256: usize = 64;
/// Lines are gathered for so long before they are sent.
const GATHER: Duration = Duration::from_millis(50);
/// How long home may take to hear news.
const HEAR: Duration = Duration::from_secs(5);
/// How long before they are told again.
const AGAIN: Duration = Duration::from_millis(200);
/// How long a host may go on whose home cannot be told of it.
const UNHEARD: Duration = Duration::from_secs(30);
/// How long a host without a home may take to end.
const ORPHAN: Duration = Duration::from_secs(3);
/// How long a host may live whose link to its daemon has ended.
const UNLINKED: Duration = Duration::from_secs(5);

/// A host has connected to this daemon. Told by whoever accepts connections, with the facts of its greeting.
pub struct HostConnected {
    /// The job it says it is of.
    pub job: String,
    /// The token it says it was started with.
    pub token: String,
    /// Its actor.
    pub host: ActorRef<HostActor>,
}

impl Message for HostConnected {
    type Reply = ();
}

impl Handler<HostConnected> for NodeActor {
    fn handle(&mut self, message: HostConnected, context: &mut Context<'_, Self>) {
        let HostConnected { job, token, host } = message;
        let known =
            self.jobs.hosts.get_mut(&job).filter(|host| host.start.token == token && host.link.is_none());
        // One that is not known is refused when it enlists.
        let Some(local) = known else { return };
        local.link = Some(host.clone());
        let lost = async move {
            host.stopped().await;
            sleep_until((Instant::now() + UNLINKED).into()).await;
        };
        context.spawn(lost, move |node, (), _| node.kill_host(&job));
    }
}

impl Handler<StartHost> for NodeActor {
    fn handle(&mut self, start: StartHost, context: &mut Context<'_, Self>) -> Reply<StartAnswer> {
        let (to, reply) = reply(Self::NAME);
        match self.may_start(&start) {
            Ok(()) => self.start_host(start, to, context),
            Err(why) => to.send(StartAnswer::Refused { why }),
        }
        reply
    }
}

impl Handler<Enlist> for NodeActor {
    fn handle(&mut self, enlist: Enlist, _: &mut Context<'_, Self>) -> Reply<Enlisted> {
        let (to, reply) = reply(Self::NAME);
        let refuse = |why: &str| Enlisted::Refused { why: why.into() };
        match self.jobs.hosts.get_mut(&enlist.job).filter(|host| host.start.token == enlist.token) {
            None => to.send(refuse("this daemon has started no host with this token for such a job")),
            Some(LocalHost { ending: Some(why), .. }) => to.send(refuse(why)),
            Some(_)
                if enlist.bulk_addresses.len() > BulkPlace::MOST || enlist.program_sha256.len() > SHA256 =>
            {
                to.send(refuse("it says more of itself than news of it can hold"));
            }
            Some(host) if host.waiting.is_some() => to.send(refuse("it has enlisted before")),
            Some(host) => {
                host.waiting = Some(to);
                host.outbox.note(|said| said.enlisted = Some(enlist));
            }
        }
        reply
    }
}

impl Handler<HostProgress> for NodeActor {
    fn handle(&mut self, message: HostProgress, _: &mut Context<'_, Self>) {
        if let Some(host) = self.jobs.hosts.get(&message.job) {
            host.outbox.note(|said| said.progress = Some(message.progress));
        }
    }
}

impl Handler<HostDone> for NodeActor {
    fn handle(&mut self, message: HostDone, _: &mut Context<'_, Self>) {
        if let Some(host) = self.jobs.hosts.get(&message.job) {
            host.outbox.note(|said| said.outcome = said.outcome.take().or(Some(message.outcome.plain())));
        }
    }
}

impl Handler<Assign> for NodeActor {
    fn handle(&mut self, message: Assign, _: &mut Context<'_, Self>) {
        let host = self.jobs.hosts.get_mut(&message.job);
        if let Some(waiting) = host.and_then(|host| host.waiting.take()) {
            waiting.send(Enlisted::Assigned(Box::new(message.assignment)));
        }
    }
}

impl Handler<EndHost> for NodeActor {
    fn handle(&mut self, message: EndHost, _: &mut Context<'_, Self>) {
        if let Some(host) = self.jobs.hosts.get_mut(&message.job) {
            host.end(&message.why, message.kill);
        }
    }
}

impl NodeActor {
    fn may_start(&self, start: &StartHost) -> Result<(), String> {
        check_name("job", &start.job).map_err(|error| error.to_string())?;
        if self.jobs.leaving {
            return Err("it is leaving the cluster".into());
        }
        if self.jobs.hosts.contains_key(&start.job) {
            return Err(format!("it has a host of {} already", start.job));
        }
        if self.jobs.hosts.len() >= MOST_HOSTS {
            return Err(format!("it has {MOST_HOSTS} hosts already"));
        }
        let free = self.own_info().cores_free;
        if free < start.threads {
            return Err(format!("{} cores are wanted, and {free} are free by now", start.threads));
        }
        Ok(())
    }

    /// Starts a host, and answers when it runs. From now on it has its cores, and can be ended.
    fn start_host(&mut self, start: StartHost, to: ReplyTo<StartAnswer>, context: &mut Context<'_, Self>) {
        let bulk = BulkPlace::of(self.me.listens.ip(), &self.me.addresses);
        let outbox = Rc::<Outbox>::default();
        let (process, starting) = HostProcess::start(&start, &self.me.socket, &bulk, outbox.clone());
        let (job, home) = (start.job.clone(), start.home.clone());
        self.jobs.hosts.insert(job.clone(), LocalHost::new(start, process, outbox.clone()));
        context.spawn(starting, move |node, started, context| {
            let watched = match started {
                Ok(watched) => watched,
                Err(error) => {
                    node.jobs.hosts.remove(&job);
                    return to.send(StartAnswer::Refused { why: error.to_string() });
                }
            };
            let pid = watched.id();
            tracing::info!(job, pid, home, "host started");
            to.send(StartAnswer::Started { pid });
            node.hand_on(job.clone(), context);
            context.spawn(watched.run(), move |_, how, _| {
                tracing::info!(job, pid, how, "host ended");
                outbox.note(|said| said.exited = Some(how));
            });
        });
    }

    /// Waits for what a host has to say, and sends it home; and so on until it has ended.
    fn hand_on(&self, job: String, context: &mut Context<'_, Self>) {
        let Some(host) = self.jobs.hosts.get(&job) else { return };
        let outbox = host.outbox.clone();
        let gathered = async move {
            outbox.filled().await;
            sleep_until((Instant::now() + GATHER).into()).await;
        };
        context.spawn(gathered, move |node, (), context| {
            let Some(host) = node.jobs.hosts.get_mut(&job) else { return };
            host.batch += 1;
            let said = host.outbox.take(host.batch);
            let news = HostNews {
                job,
                index: host.start.index,
                batch: said.batch,
                lines: said.lines,
                dropped: said.dropped,
                enlisted: said.enlisted,
                progress: said.progress,
                outcome: said.outcome,
                exited: said.exited,
            };
            node.tell_home(news, context);
        });
    }

    fn tell_home(&mut self, news: HostNews, context: &mut Context<'_, Self>) {
        let Some(host) = self.jobs.hosts.get(&news.job) else { return };
        if host.orphan {
            return self.told(news, context);
        }
        let home = self.reach(&host.start.home, context);
        let sent = news.clone();
        let asked = async move {
            let answer = match home {
                Some(home) => home.ask(sent, HEAR).await.ok(),
                None => None,
            };
            if answer.is_none() {
                sleep_until((Instant::now() + AGAIN).into()).await;
            }
            answer
        };
        context.spawn(asked, move |node, answer, context| match answer {
            Some(NewsAnswer::Taken) => node.told(news, context),
            Some(NewsAnswer::Unknown) => {
                node.orphan(&news.job, "its home knows nothing of the job any more", context);
                node.told(news, context);
            }
            None => {
                let since = node
                    .jobs
                    .hosts
                    .get_mut(&news.job)
                    .map(|host| *host.unheard.get_or_insert_with(Instant::now));
                if since.is_some_and(|since| since.elapsed() >= UNHEARD) {
                    node.orphan(&news.job, "its home could not be reached for too long", context);
                }
                node.tell_home(news, context);
            }
        });
    }

    fn told(&mut self, news: HostNews, context: &mut Context<'_, Self>) {
        if news.exited.is_some() {
            self.jobs.hosts.remove(&news.job);
            return;
        }
        if let Some(host) = self.jobs.hosts.get_mut(&news.job) {
            host.unheard = None;
        }
        self.hand_on(news.job, context);
    }

    /// Ends a host that nobody wants any more.
    pub(super) fn orphan(&mut self, job: &str, why: &str, context: &mut Context<'_, Self>) {
        let Some(host) = self.jobs.hosts.get_mut(job).filter(|host| !host.orphan) else { return };
        tracing::warn!(job, why, "host ends");
        host.orphan = true;
        host.end(why, false);
        let job = job.to_owned();
        context.spawn(sleep_until((Instant::now() + ORPHAN).into()), move |node, (), _| node.kill_host(&job));
    }

    fn kill_host(&mut self, job: &str) {
        if let Some(host) = self.jobs.hosts.get(job) {
            host.process.kill();
        }
    }
}
