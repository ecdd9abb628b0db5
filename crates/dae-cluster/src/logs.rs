//! The log of a job: lines of all its hosts, one where several say the same, the latest kept.

use crate::protocol::jobs::LogLine;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a line waits for the same words from other nodes.
const WINDOW: Duration = Duration::from_millis(250);
/// Lines that wait at most.
const WAITING: usize = 1024;
/// Lines kept.
const LINES: usize = 10_000;
/// Bytes of lines kept.
const BYTES: usize = 4 << 20;
/// Bytes of lines in one answer.
const ANSWER: usize = 32 << 10;
/// The longest line, in characters.
const LONGEST: usize = 2_000;
/// The longest cause, in bytes: it travels with the lines of an answer.
const CAUSE: usize = 4 << 10;

/// The log of a job of so many nodes.
#[derive(Debug)]
pub(crate) struct JobLog {
    nodes: usize,
    waiting: VecDeque<Waiting>,
    lines: VecDeque<LogLine>,
    bytes: usize,
    /// The number of the latest line.
    last: u64,
}

#[derive(Debug)]
struct Waiting {
    nodes: Vec<String>,
    text: String,
    since: Instant,
}

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) lines: Vec<LogLine>,
    pub(crate) missed: u64,
    pub(crate) next: u64,
    pub(crate) more: bool,
}

impl JobLog {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { nodes, waiting: VecDeque::new(), lines: VecDeque::new(), bytes: 0, last: 0 }
    }

    /// A node's host wrote this line.
    pub(crate) fn push(&mut self, node: &str, text: &str, now: Instant) {
        let same = |line: &&mut Waiting| {
            words(&line.text) == words(text) && !line.nodes.iter().any(|there| there == node)
        };
        match self.waiting.iter_mut().find(same) {
            Some(line) => line.nodes.push(node.into()),
            None => {
                self.waiting.push_back(Waiting { nodes: vec![node.into()], text: text.into(), since: now })
            }
        }
        self.settle(now);
    }

    /// Lets go of lines that have waited long enough; true if there were any.
    pub(crate) fn settle(&mut self, now: Instant) -> bool {
        let before = self.last;
        // From the front only: the order in which lines came is kept.
        while let Some(line) = self.waiting.front() {
            let whole = line.nodes.len() >= self.nodes || now.duration_since(line.since) >= WINDOW;
            if !whole && self.waiting.len() <= WAITING {
                break;
            }
            self.keep_first();
        }
        self.last > before
    }

    /// Lets go of all lines: no more will come.
    pub(crate) fn close(&mut self) {
        while !self.waiting.is_empty() {
            self.keep_first();
        }
    }

    fn keep_first(&mut self) {
        let Some(Waiting { mut nodes, text, .. }) = self.waiting.pop_front() else { return };
        nodes.sort();
        self.last += 1;
        let line = LogLine { number: self.last, nodes, text };
        self.bytes += size(&line);
        self.lines.push_back(line);
        self.cut(LINES, BYTES);
    }

    /// The memory it takes, about, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps the latest lines only, as many as so many bytes hold.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        self.cut(LINES, bytes);
        self.lines.shrink_to_fit();
    }

    fn cut(&mut self, lines: usize, bytes: usize) {
        while self.lines.len() > lines || self.bytes > bytes {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= size(&oldest);
        }
    }

    /// The number of the latest line.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The lines after number `after`, as many as an answer holds.
    pub(crate) fn after(&self, after: u64) -> Page {
        let first = self.lines.front().map_or(self.last + 1, |line| line.number);
        let missed = first.saturating_sub(after.saturating_add(1));
        let skip = usize::try_from(after.saturating_add(1).saturating_sub(first)).unwrap_or(usize::MAX);
        let mut room = ANSWER;
        // One at least, however many nodes wrote it: whoever asks must come on.
        let mut none = true;
        let fits = |line: &&LogLine| {
            let names: usize = line.nodes.iter().map(|name| name.len() + 8).sum();
            let size = line.text.len() + names + 32;
            let fits = size <= room || none;
            none = false;
            room = room.saturating_sub(size);
            fits
        };
        let lines: Vec<_> = self.lines.iter().skip(skip).take_while(fits).cloned().collect();
        let next = lines.last().map_or(after.max(first.saturating_sub(1)).min(self.last), |line| line.number);
        Page { lines, missed, next, more: next < self.last }
    }
}

/// The memory a line takes, about, in bytes.
fn size(line: &LogLine) -> usize {
    let name = |name: &String| name.len() + size_of::<String>();
    line.text.len() + size_of::<LogLine>() + line.nodes.iter().map(name).sum::<usize>()
}

/// The line without the time it may begin with, which differs from node to node.
fn words(line: &str) -> &str {
    match line.split_once(' ') {
        Some((time, rest)) if time.starts_with("20") && time.ends_with('Z') && time.contains('T') => {
            rest.trim_start()
        }
        _ => line,
    }
}

/// A line as it may be shown on any terminal: no control characters, not too long.
pub(crate) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches(['\r', '\n']);
    // What a bar on one line has overwritten was never meant to stay.
    let text = text.rsplit('\r').next().unwrap_or(text);
    let mut plain: String = uncoloured(text)
        .take(LONGEST)
        .map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        plain.push_str(" …");
    }
    plain
}

/// A cause as it may be sent and shown anywhere: lines as [`plain`] ones, not too many bytes.
pub(crate) fn cause(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| plain(line.as_bytes())).collect();
    let mut cause = lines.join("\n");
    if cause.len() > CAUSE {
        cause.truncate(cause.floor_char_boundary(CAUSE));
        cause.push_str(" …");
    }
    cause
}

/// The text without escape sequences for colours.
fn uncoloured(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        while chars.peek() == Some(&'\u{1b}') {
            chars.next();
            if chars.next_if_eq(&'[').is_some() {
                while chars.next_if(|c| c.is_ascii_digit() || *c == ';').is_some() {}
                chars.next_if(char::is_ascii_alphabetic);
            }
        }
        chars.next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(log: &JobLog) -> Vec<(Vec<String>, String)> {
        log.after(0).lines.into_iter().map(|line| (line.nodes, line.text)).collect()
    }

    #[test]
    fn what_all_nodes_say_is_told_once_in_order() {
        let now = Instant::now();
        let mut log = JobLog::new(2);
        for node in ["b", "a"] {
            log.push(node, "loading", now);
            log.push(node, &format!("here is {node}"), now);
            log.push(node, "loading", now);
        }
        assert!(log.settle(now + WINDOW));
        let told: Vec<_> =
            texts(&log).into_iter().map(|(nodes, text)| format!("{} {text}", nodes.join("+"))).collect();
        assert_eq!(told, ["a+b loading", "b here is b", "a+b loading", "a here is a"]);
    }

    #[test]
    fn the_time_a_line_begins_with_makes_no_difference() {
        let now = Instant::now();
        let mut log = JobLog::new(2);
        log.push("a", "2026-11-30T16:23:57.123456Z  INFO layout agrees", now);
        log.push("b", "2026-11-30T16:23:58.000001Z  INFO layout agrees", now);
        assert_eq!(texts(&log).len(), 1);
        log.push("a", "2026 was a year", now);
        log.push("b", "2027 was a year", now);
        log.close();
        assert_eq!(texts(&log).len(), 3);
    }

    #[test]
    fn a_line_of_one_node_waits_for_the_window_and_no_longer() {
        let now = Instant::now();
        let mut log = JobLog::new(2);
        log.push("a", "alone", now);
        assert!(!log.settle(now + WINDOW / 2));
        assert_eq!(log.after(0).lines.len(), 0);
        assert!(log.settle(now + WINDOW));
        assert_eq!(texts(&log), [(vec!["a".into()], "alone".into())]);
        let mut single = JobLog::new(1);
        single.push("a", "at once", now);
        assert_eq!(single.last(), 1);
    }

    #[test]
    fn only_the_latest_lines_are_kept_and_the_others_counted() {
        let now = Instant::now();
        let mut log = JobLog::new(1);
        for i in 0..LINES + 50 {
            log.push("a", &i.to_string(), now);
        }
        let page = log.after(0);
        assert_eq!((page.missed, page.lines[0].text.as_str()), (50, "50"));
        log.shrink(100 * size(&log.lines[LINES - 1]));
        assert_eq!((log.lines.len(), log.after(0).missed), (100, LINES as u64 + 50 - 100));
        assert!(log.bytes() <= 100 * size(&log.lines[99]), "{}", log.bytes());
        let long = "x".repeat(1_000);
        for _ in 0..LINES {
            log.push("a", &long, now);
        }
        assert!(log.bytes <= BYTES && log.lines.len() <= BYTES / 1_000);
        let beyond = log.after(u64::MAX);
        assert_eq!((beyond.lines.len(), beyond.next), (0, log.last()));
    }

    #[test]
    fn a_line_of_very_many_nodes_is_told_too() {
        let now = Instant::now();
        let mut log = JobLog::new(1_000);
        for node in 0..1_000 {
            log.push(&format!("{node:0>64}"), "a host begins", now);
        }
        let page = log.after(0);
        assert_eq!((page.lines.len(), page.next, page.more), (1, 1, false));
    }

    #[test]
    fn nobody_talks_to_a_terminal() {
        assert_eq!(plain(b"\x1b[1;31mred\x1b[0m and \x07\xff\n"), "red and \u{fffd}\u{fffd}");
        assert_eq!(plain(b"10 %\r20 %\r\n"), "20 %");
        assert!(plain(&[b'x'; 9_000]).chars().count() <= LONGEST + 2);
        assert_eq!(plain(b"\x1b\x1b[\x1b[31"), "");
    }

    #[test]
    fn a_cause_is_short_and_plain_and_keeps_its_lines() {
        assert_eq!(cause("disk \x1b[31mfull\x07\r\nat step 3"), "disk full\u{fffd}\nat step 3");
        let long = cause(&"ä\u{1}\n".repeat(40_000));
        assert!(long.len() <= CAUSE + 4 && long.ends_with(" …"), "{} bytes", long.len());
    }

    proptest! {
        #[test]
        fn pages_put_together_are_the_log(lines in prop::collection::vec((0usize..3, 0usize..5), 0..200), step in 1u64..50) {
            let now = Instant::now();
            let mut log = JobLog::new(3);
            for (node, text) in &lines {
                log.push(&format!("n{node}"), &format!("{text}"), now);
            }
            log.close();
            let told: usize = texts(&log).iter().map(|(nodes, _)| nodes.len()).sum();
            prop_assert_eq!(told, lines.len(), "every line of every node is told once");
            let mut at = 0;
            let mut seen = Vec::new();
            while at < log.last() {
                let page = log.after(at);
                prop_assert!(page.next > at && page.missed == 0);
                seen.extend(page.lines.into_iter().take(step as usize));
                at = seen.last().map_or(at, |line: &LogLine| line.number);
            }
            prop_assert_eq!(seen, log.after(0).lines);
        }
    }
}
