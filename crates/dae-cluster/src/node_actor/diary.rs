//! What happened, for people: on stderr, and kept, bounded, for those who ask later.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Stderr;
use crate::protocol::{Event, NotReached};

/// Events that are kept.
const KEPT: usize = 200;
/// The longest line that is kept, in bytes.
const LINE: usize = 1 << 10;
/// How soon it is told again that nobody could be joined; each time twice as long.
const FIRST_REPORT: Duration = Duration::from_secs(2);
const LATER_REPORTS: Duration = Duration::from_secs(300);
/// Those turned away are told of no more often than this.
const TURNED_AWAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Diary {
    stderr: Option<Stderr>,
    events: VecDeque<Event>,
    /// What other nodes said of not reaching this one, by their names.
    unreached: Vec<NotReached>,
    /// The last report of who declined.
    reported: Vec<(String, String)>,
    next_report: Instant,
    pause: Duration,
    last_turned_away: Option<Instant>,
    unsaid: u64,
}

impl Diary {
    pub(super) fn new(stderr: Option<Stderr>, now: Instant) -> Self {
        Self {
            stderr,
            events: VecDeque::new(),
            unreached: Vec::new(),
            reported: Vec::new(),
            next_report: now + FIRST_REPORT,
            pause: FIRST_REPORT,
            last_turned_away: None,
            unsaid: 0,
        }
    }

    pub(super) fn write(&mut self, what: String) {
        if let Some(stderr) = &self.stderr {
            stderr.line(&what);
        }
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let what = what.get(..what.floor_char_boundary(LINE)).unwrap_or_default().to_owned();
        self.events.push_back(Event { at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX), what });
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.events.iter().cloned().collect()
    }

    /// Another node cannot reach this one. Says whether that is news.
    pub(super) fn unreached(&mut self, told: NotReached) -> bool {
        let news = !self.unreached.contains(&told);
        self.unreached.retain(|earlier| earlier.by != told.by);
        if self.unreached.len() < KEPT {
            self.unreached.push(told);
        }
        news
    }

    /// The other node has reached this one after all.
    pub(super) fn reached_by(&mut self, name: &str) {
        self.unreached.retain(|told| told.by != name);
    }

    pub(super) fn all_unreached(&self) -> &[NotReached] {
        &self.unreached
    }

    /// A report of those who declined, when it is time: soon if somebody new declines, now and then while nobody at
    /// all is joined.
    pub(super) fn declined(
        &mut self,
        declined: Vec<(String, String)>,
        joined: bool,
        now: Instant,
    ) -> Option<String> {
        if now < self.next_report || declined.is_empty() {
            return None;
        }
        let news = declined.iter().any(|each| !self.reported.contains(each));
        if !news && joined {
            return None;
        }
        self.pause = if news { FIRST_REPORT } else { (self.pause * 2).min(LATER_REPORTS) };
        self.next_report = now + self.pause;
        let each: Vec<_> = declined.iter().take(8).map(|(place, why)| format!("{place}: {why}")).collect();
        let more = declined.len().saturating_sub(each.len());
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        self.reported = declined;
        let lead = if joined { "not joined" } else { "nobody is joined yet; asked were" };
        Some(format!("{lead}: {}{more}", each.join("; ")))
    }

    /// Somebody was turned away: a sentence, unless one was just said.
    pub(super) fn turned_away(&mut self, from: &str, why: &str, now: Instant) -> Option<String> {
        if self.last_turned_away.is_some_and(|last| now < last + TURNED_AWAY) {
            self.unsaid = self.unsaid.saturating_add(1);
            return None;
        }
        self.last_turned_away = Some(now);
        let more = std::mem::take(&mut self.unsaid);
        let more = if more > 0 { format!(" ({more} others before it)") } else { String::new() };
        Some(format!("turned away {from}{more}: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_bounded() {
        let mut diary = Diary::new(None, Instant::now());
        (0..KEPT + 3).for_each(|n| diary.write(format!("test event {n}")));
        let events = diary.events();
        assert_eq!((events.len(), &*events[0].what), (KEPT, "test event 3"));
        diary.write("ä".repeat(LINE));
        assert_eq!(diary.events()[KEPT - 1].what.len(), LINE);
    }

    #[test]
    fn who_declined_is_told_again_ever_more_rarely_while_nobody_is_joined() {
        let start = Instant::now();
        let mut diary = Diary::new(None, start);
        let why = || vec![("seed a:1".to_owned(), "another key".to_owned())];
        assert_eq!(diary.declined(why(), false, start), None, "give it a moment");
        let mut told = Vec::new();
        for second in 0..100 {
            if let Some(report) = diary.declined(why(), false, start + Duration::from_secs(second)) {
                assert!(report.contains("seed a:1: another key"), "{report}");
                told.push(second);
            }
        }
        assert_eq!(told, [2, 4, 8, 16, 32, 64]);
        let later = start + Duration::from_secs(1000);
        assert_eq!(diary.declined(why(), true, later), None, "no news, and somebody is joined");
        let other = vec![("seed b:1".to_owned(), "another key".to_owned())];
        assert!(diary.declined(other, true, later).is_some());
    }

    #[test]
    fn many_that_are_turned_away_are_one_line() {
        let (mut diary, start) = (Diary::new(None, Instant::now()), Instant::now());
        assert!(diary.turned_away("10.0.0.9:1", "wrong key", start).is_some());
        (0..99).for_each(|_| assert_eq!(diary.turned_away("x", "wrong key", start), None));
        let line =
            diary.turned_away("10.0.0.9:2", "wrong key", start + TURNED_AWAY).expect("time has passed");
        assert_eq!(line, "turned away 10.0.0.9:2 (99 others before it): wrong key");
    }

    #[test]
    fn not_being_reached_is_news_once() {
        let mut diary = Diary::new(None, Instant::now());
        let told = || NotReached { by: "n2".into(), place: "10.0.0.1:1".into(), why: "refused".into() };
        assert!(diary.unreached(told()) && !diary.unreached(told()));
        diary.reached_by("n2");
        assert!(diary.all_unreached().is_empty() && diary.unreached(told()));
    }
}
