//! A job followed to its end: its lines on stderr, its progress as a bar, or in plain lines where there is no terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use dae_cluster::client::Client;
use dae_cluster::protocol::hosts::{Outcome, Progress};
use dae_cluster::protocol::jobs::{JobNews, JobState, LogLine};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ask;
use crate::cluster_args::DaemonArgs;
use crate::exit::Failure;
use crate::interrupts::Interrupts;
use crate::job_args::AttachArgs;
use dae_train::exit::Exit;

/// How often progress is told where there is no terminal.
const LINE: Duration = Duration::from_secs(5);
/// Nodes that are named before a line; more are counted.
const NAMED: usize = 2;

/// What is followed, and how.
pub struct Followed {
    /// The job.
    pub job: String,
    /// Whom to ask about it.
    pub daemon: DaemonArgs,
    /// Whether Ctrl-C stops it.
    pub stop_on_interrupt: bool,
}

/// Follows a job that was started before.
pub fn attach(args: &AttachArgs) -> Result<Vec<u8>, Failure> {
    let daemon = &args.job.daemon;
    let followed = || Followed {
        job: args.job.job.clone(),
        daemon: daemon.clone(),
        stop_on_interrupt: args.stop_on_interrupt,
    };
    ask::about_jobs(daemon, async |client: Client| {
        to_the_end(&client, followed(), &mut Interrupts::listen()?).await
    })
}

/// Follows a job until it ends or somebody presses Ctrl-C.
pub async fn to_the_end(
    client: &Client,
    followed: Followed,
    interrupts: &mut Interrupts,
) -> Result<Vec<u8>, Failure> {
    let Followed { job, daemon, stop_on_interrupt } = &followed;
    let view = View::new();
    let mut shown = Shown { view: &view, line: None, step: None };
    let ended = client.follow(job, 0, |news| shown.news(news));
    tokio::pin!(ended);
    let mut stopping = false;
    loop {
        let outcome = tokio::select! {
            outcome = &mut ended => outcome,
            () = interrupts.next() => {
                if stopping || !stop_on_interrupt {
                    view.finish();
                    return Err(left(job, daemon));
                }
                stopping = true;
                view.say("interrupted: the hosts finish their step and save; once more leaves the job");
                let stop = client.stop(job, "interrupted", false);
                stop.await.map_err(ask::job_failure)?;
                continue;
            }
        };
        view.finish();
        return over(job, &outcome.map_err(ask::job_failure)?).map(|line| {
            say(&line);
            Vec::new()
        });
    }
}

/// How a job ended: a line, or a failure with its exit code.
pub fn over(job: &str, outcome: &Outcome) -> Result<String, Failure> {
    match outcome {
        Outcome::Done => Ok(format!("job {job} is done")),
        Outcome::Stopped { why } => {
            Err(Failure::new(Exit::Interrupted, miette::miette!("job {job} was stopped: {why}")))
        }
        Outcome::Failed { cause, code, .. } => {
            let known = [Exit::Usage, Exit::Unreachable, Exit::Invalid, Exit::Interrupted];
            let exit = known.into_iter().find(|exit| *exit as u8 == *code).unwrap_or(Exit::Failed);
            Err(Failure::new(exit, miette::miette!("job {job} failed: {cause}")))
        }
    }
}

fn left(job: &str, daemon: &DaemonArgs) -> Failure {
    let options = match &daemon.node {
        Some(node) => format!(" --cluster {} --node {node}", daemon.cluster),
        None => format!(" --cluster {}", daemon.cluster),
    };
    let help =
        format!("follow it again: dae-node attach {job}{options}\nend it: dae-node stop {job}{options}");
    Failure::new(Exit::Interrupted, miette::miette!(help = help, "left job {job}, which goes on"))
}

/// Writes a line on stderr. If nobody is there to read it, that is no reason to stop.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A line with who wrote it.
pub fn labelled(line: &LogLine) -> String {
    let who = match line.nodes.len() {
        many if many > NAMED => format!("{many} nodes"),
        _ => line.nodes.join(" "),
    };
    format!("[{who}] {}", line.text)
}

/// The screen.
struct View {
    bar: ProgressBar,
    terminal: bool,
}

impl View {
    fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        // Nothing is drawn before there is something to draw.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        // A template that does not parse leaves the bar as it is by default.
        if let Ok(style) = ProgressStyle::with_template("{bar:32} step {pos}/{len}  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Self { bar, terminal }
    }

    fn say(&self, line: &str) {
        self.bar.suspend(|| say(line));
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// What was shown so far.
struct Shown<'a> {
    view: &'a View,
    /// When progress was last told in a line.
    line: Option<Instant>,
    step: Option<u64>,
}

impl Shown<'_> {
    fn news(&mut self, news: &JobNews) {
        if news.missed > 0 {
            self.view.say(&format!("({} earlier lines are not kept any more)", news.missed));
        }
        for line in &news.lines {
            self.view.say(&labelled(line));
        }
        match (&news.job.state, news.job.progress) {
            (JobState::Ended(_), _) | (_, None) => {}
            (_, Some(progress)) => self.progress(progress),
        }
    }

    fn progress(&mut self, Progress { step, total, loss, samples_per_s }: Progress) {
        let loss = loss.map_or(String::new(), |loss| format!("loss {loss:.4}  "));
        let message = format!("{loss}{} samples/s", thousands(samples_per_s));
        let View { bar, terminal } = self.view;
        if *terminal {
            if self.step.is_none() {
                bar.set_length(total);
                bar.set_position(step);
                bar.reset_eta();
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.set_position(step);
            bar.set_message(message);
        } else if self.step != Some(step) && self.line.is_none_or(|line| line.elapsed() >= LINE) {
            self.line = Some(Instant::now());
            say(&format!("step {step}/{total}  {message}"));
        }
        self.step = Some(step);
    }
}

/// A number with its thousands apart.
fn thousands(x: f64) -> String {
    let digits = format!("{:.0}", x.max(0.0));
    let apart = |(i, c): (usize, char)| {
        let comma = i > 0 && (digits.len() - i).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([c])
    };
    digits.chars().enumerate().flat_map(apart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_wrote_it() {
        let line = |nodes: &[&str]| {
            labelled(&LogLine {
                number: 1,
                nodes: nodes.iter().map(|n| (*n).into()).collect(),
                text: "x".into(),
            })
        };
        assert_eq!(
            (line(&["a"]), line(&["a", "b"]), line(&["a", "b", "c"])),
            ("[a] x".into(), "[a b] x".into(), "[3 nodes] x".into())
        );
    }

    #[test]
    fn a_job_ends_with_its_own_exit_code() {
        let failed = |code| Outcome::Failed { cause: "c".into(), code, blames: None };
        let exit = |outcome: &Outcome| over("j", outcome).map_or_else(|failure| failure.exit, |_| Exit::Done);
        assert_eq!(exit(&Outcome::Done), Exit::Done);
        assert_eq!(exit(&Outcome::Stopped { why: "w".into() }), Exit::Interrupted);
        assert_eq!(
            (exit(&failed(1)), exit(&failed(4)), exit(&failed(77))),
            (Exit::Failed, Exit::Invalid, Exit::Failed)
        );
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0.0, 999.4, 1000.0, 1234567.0].map(thousands),
            ["0", "999", "1,000", "1,234,567"].map(String::from)
        );
    }
}
