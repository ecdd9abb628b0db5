//! `dae-node jobs`, `logs`, `stop`.

use std::io::{self, Write};

use dae_cluster::client::Client;
use dae_cluster::protocol::hosts::Outcome;
use dae_cluster::protocol::jobs::{JobNews, JobRow, JobRows, JobState};
use dae_train::exit::Exit;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::ask;
use crate::cluster_args::ShowArgs;
use crate::exit::Failure;
use crate::follow::{labelled, over, say};
use crate::job_args::{LogsArgs, StopArgs};
use crate::table::{ago, table, versioned};

/// Lists the jobs of the cluster.
pub fn jobs(args: &ShowArgs) -> Result<Vec<u8>, Failure> {
    let rows =
        ask::about_jobs(&args.daemon, async |client: Client| client.jobs().await.map_err(ask::job_failure))?;
    if args.json {
        let jobs: Vec<_> = rows.jobs.iter().map(as_json).collect();
        return versioned(&json!({ "jobs": jobs, "silent": rows.silent }));
    }
    rows.silent.iter().for_each(|silent| say(&format!("no answer from {silent}")));
    Ok(show(&rows))
}

/// Prints what the hosts of a job wrote.
pub fn logs(args: &LogsArgs) -> Result<Vec<u8>, Failure> {
    let job = &args.job.job;
    ask::about_jobs(&args.job.daemon, async |client: Client| {
        if args.follow {
            let (stop, stopped) = oneshot::channel();
            let mut stop = Some(stop);
            let followed = client.follow(job, 0, |news| {
                if stop.is_some()
                    && let Err(error) = print(news)
                {
                    let _ = stop.take().map(|stop| stop.send(error));
                }
            });
            let outcome = tokio::select! {
                biased;
                Ok(error) = stopped => return not_written(&error),
                outcome = followed => outcome.map_err(ask::job_failure)?,
            };
            // How it ended is not what was asked.
            say(&over(job, &outcome).unwrap_or_else(|failure| failure.report.to_string()));
            return Ok(Vec::new());
        }
        let mut after = 0;
        loop {
            let news = client.news(job, after, true).await.map_err(ask::job_failure)?;
            if let Err(error) = print(&news) {
                return not_written(&error);
            }
            after = news.next;
            if !news.more {
                return Ok(Vec::new());
            }
        }
    })
}

/// Ends a job, and waits until it has ended.
pub fn stop(args: &StopArgs) -> Result<Vec<u8>, Failure> {
    let job = &args.job.job;
    let who = std::env::var("USER").ok().filter(|user| !user.is_empty());
    let why = who.map_or_else(|| "stopped by dae-node stop".to_owned(), |user| format!("stopped by {user}"));
    ask::about_jobs(&args.job.daemon, async |client: Client| {
        let told = client.stop(job, &why, args.now).await.map_err(ask::job_failure)?;
        if !told {
            return Ok(format!("job {job} had ended before\n").into_bytes());
        }
        let after = client.news(job, u64::MAX, true).await.map_err(ask::job_failure)?.next;
        let outcome = client.follow(job, after, |_| ()).await.map_err(ask::job_failure)?;
        Ok(format!("job {job}: {}\n", state(&JobState::Ended(outcome)).1).into_bytes())
    })
}

/// On stdout at once: somebody may be watching.
fn print(news: &JobNews) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    news.lines.iter().try_for_each(|line| writeln!(stdout, "{}", labelled(line)))?;
    stdout.flush()
}

/// A reader that has seen enough (`| head`) is no failure.
fn not_written(error: &io::Error) -> Result<Vec<u8>, Failure> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(Vec::new()),
        _ => Err(Failure::new(Exit::Failed, miette::miette!("cannot write to stdout: {error}"))),
    }
}

/// A state in a word, and its reason.
fn state(state: &JobState) -> (&'static str, String) {
    match state {
        JobState::Starting => ("starting", String::new()),
        JobState::Running => ("running", String::new()),
        JobState::Stopping { why } => ("stopping", why.clone()),
        JobState::Ended(Outcome::Done) => ("done", "done".into()),
        JobState::Ended(Outcome::Stopped { why }) => ("stopped", why.clone()),
        JobState::Ended(Outcome::Failed { cause, .. }) => ("failed", cause.clone()),
    }
}

fn show(rows: &JobRows) -> Vec<u8> {
    let row = |job: &JobRow| {
        let (state, why) = state(&job.state);
        [
            job.job.clone(),
            state.into(),
            job.progress.map_or("-".into(), |progress| format!("{}/{}", progress.step, progress.total)),
            job.progress.and_then(|progress| progress.loss).map_or("-".into(), |loss| format!("{loss:.4}")),
            job.nodes.join(" "),
            job.home.clone(),
            ago(job.age_ms / 1000),
            if why == "done" { String::new() } else { why },
        ]
    };
    table(["JOB", "STATE", "STEP", "LOSS", "NODES", "HOME", "AGE", "WHY"], rows.jobs.iter().map(row))
}

fn as_json(job: &JobRow) -> Value {
    let (state, why) = state(&job.state);
    let code = match &job.state {
        JobState::Ended(Outcome::Failed { code, .. }) => Some(*code),
        _ => None,
    };
    json!({
        "job": job.job,
        "state": state,
        "why": why,
        "code": code,
        "home": job.home,
        "nodes": job.nodes,
        "progress": job.progress,
        "run_dir": job.run_dir,
        "age_ms": job.age_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dae_cluster::protocol::hosts::Progress;

    #[test]
    fn a_job_is_one_line_and_one_object() {
        let job = JobRow {
            job: "mnist-3fa9".into(),
            home: "n1".into(),
            nodes: vec!["n1".into(), "n2".into()],
            state: JobState::Ended(Outcome::Failed { cause: "n2: disk full".into(), code: 1, blames: None }),
            progress: Some(Progress { step: 7, total: 300, loss: Some(0.25), samples_per_s: 1e4 }),
            run_dir: None,
            age_ms: 90_000,
        };
        let text =
            String::from_utf8(show(&JobRows { jobs: vec![job.clone()], silent: Vec::new() })).expect("text");
        let line = text.lines().nth(1).expect("a row");
        let cells: Vec<_> = line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect();
        assert_eq!(
            cells,
            ["mnist-3fa9", "failed", "7/300", "0.2500", "n1 n2", "n1", "1 min", "n2: disk full"]
        );
        let value = as_json(&job);
        assert_eq!(
            (&value["state"], &value["code"], &value["progress"]["step"]),
            (&"failed".into(), &1.into(), &7.into())
        );
    }
}
