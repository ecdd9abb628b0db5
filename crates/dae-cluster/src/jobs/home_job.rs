//! A job whose home this daemon is: its engine, its log, and who follows it.

use super::engine::Engine;
use crate::logs::JobLog;
use crate::protocol::hosts::Progress;
use crate::protocol::jobs::{HostNews, JobNews, JobRow, News};
use dae_actor::ReplyTo;
use std::time::{Duration, Instant};

/// Followers of one job that may wait at a time.
const FOLLOWERS: usize = 64;
/// How long a follower waits for news.
const WAIT: Duration = Duration::from_secs(1);

/// A job whose home this daemon is.
pub(crate) struct HomeJob {
    pub(super) job: String,
    pub(super) home: String,
    pub(super) engine: Engine,
    pub(super) log: JobLog,
    pub(super) progress: Option<Progress>,
    pub(super) began: Instant,
    /// The latest news of each host.
    batches: Vec<u64>,
    followers: Vec<Follower>,
}

/// Somebody who waits for news.
struct Follower {
    after: u64,
    until: Instant,
    to: ReplyTo<News>,
}

impl HomeJob {
    pub(crate) fn new(job: String, home: String, engine: Engine, now: Instant) -> Self {
        let nodes = engine.order().nodes.len();
        Self {
            job,
            home,
            engine,
            log: JobLog::new(nodes),
            progress: None,
            began: now,
            batches: vec![0; nodes],
            followers: Vec::new(),
        }
    }

    /// The job at a glance.
    pub(crate) fn row(&self) -> JobRow {
        let order = self.engine.order();
        JobRow {
            job: self.job.clone(),
            home: self.home.clone(),
            nodes: order.nodes.clone(),
            state: self.engine.state(),
            progress: self.progress,
            run_dir: order.run_dir.clone(),
            age_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn news(&self, after: u64) -> News {
        let page = self.log.after(after);
        let job = self.row();
        News::Of(Box::new(JobNews {
            lines: page.lines,
            missed: page.missed,
            next: page.next,
            more: page.more,
            job,
        }))
    }

    /// Whether these news are new; they count as heard then.
    pub(crate) fn hears(&mut self, news: &HostNews) -> bool {
        let latest = usize::try_from(news.index).ok().and_then(|index| self.batches.get_mut(index));
        latest.is_some_and(|latest| {
            let new = news.batch > *latest;
            *latest = news.batch.max(*latest);
            new
        })
    }

    /// Puts what a host wrote into the log.
    pub(crate) fn write(&mut self, index: u32, lines: &[String], dropped: u64, now: Instant) {
        let Some(node) = self.engine.order().nodes.get(index as usize).cloned() else { return };
        if dropped > 0 {
            self.log.push(&node, &format!("({dropped} lines were not taken in time and are lost)"), now);
        }
        for line in lines {
            // Once more: what another node says is shown on this one's terminals.
            self.log.push(&node, &crate::logs::plain(line.as_bytes()), now);
        }
    }

    /// Answers a follower, or lets it wait for news.
    pub(crate) fn follow(&mut self, after: u64, at_once: bool, to: ReplyTo<News>, now: Instant) {
        let news = self.log.last() > after || self.engine.is_over();
        if news || at_once || self.followers.len() >= FOLLOWERS {
            to.send(self.news(after));
        } else {
            self.followers.push(Follower { after, until: now + WAIT, to });
        }
    }

    /// Something is new: all that wait are answered.
    pub(crate) fn tell(&mut self) {
        for Follower { after, to, .. } in std::mem::take(&mut self.followers) {
            to.send(self.news(after));
        }
    }

    /// Time passes.
    pub(crate) fn time(&mut self, now: Instant) {
        if self.log.settle(now) {
            self.tell();
        }
        let (over, waiting) = std::mem::take(&mut self.followers).into_iter().partition(|f| f.until <= now);
        self.followers = waiting;
        for Follower { after, to, .. } in Vec::from_iter(over) {
            to.send(self.news(after));
        }
    }

    /// Whether time matters to it.
    pub(crate) fn lives(&self) -> bool {
        !self.engine.is_over() || self.engine.has_unconfirmed() || !self.followers.is_empty()
    }
}
