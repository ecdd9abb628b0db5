//! [`Roster`]: what is known of every node. Pure: news and time in, events out.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::member::{Member, MemberEvent, MemberNews, MemberState};
use super::pulse::{LEFT_PHI, Pulse, SUSPECT_PHI};
use crate::NodeId;

/// Rows; only holders of the key can fill them.
const MOST_ROWS: usize = 4096;
/// How long nodes that left are shown.
const REMEMBER_LEFT: Duration = Duration::from_secs(600);
/// How long others are believed who speak of a node that is not heard.
const REMEMBER_KNOWN: Duration = Duration::from_secs(15);
/// How often the roster is to be told of the time.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// If ticks come this far apart, this process stood still, not the others.
const STOOD_STILL: Duration = Duration::from_millis(600);

/// A heartbeat of a node, heard by gossip.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// The node's identity.
    pub id: NodeId,
    /// Which start of the node.
    pub generation: u64,
    /// The node's name.
    pub name: String,
    /// Where it says it can be reached.
    pub address: SocketAddr,
    /// What it says of itself.
    pub facts: BTreeMap<String, String>,
}

/// What is known of every other node.
///
/// A node becomes a member when a connection to it has proved its address ([`Roster::connected`]), and returns in the
/// same way. It leaves by its goodbye, by a lost connection that could not be made again, by silence, or by starting
/// anew. A younger start of a node always wins over an older one, whatever order the news come in.
#[derive(Debug)]
pub struct Roster {
    me: NodeId,
    rows: BTreeMap<NodeId, Row>,
    news: Vec<MemberNews>,
    ticked: Option<Instant>,
}

#[derive(Debug)]
struct Row {
    generation: u64,
    name: String,
    address: Option<SocketAddr>,
    facts: BTreeMap<String, String>,
    state: MemberState,
    why: String,
    /// It has been a member, in this start or an earlier one.
    was_member: bool,
    /// The connection broke; a heartbeat does not mend it.
    disconnected: bool,
    said_goodbye: bool,
    pulse: Pulse,
}

impl Roster {
    /// The roster of the node `me`, which is not in it itself.
    pub fn new(me: NodeId) -> Self {
        Self { me, rows: BTreeMap::new(), news: Vec::new(), ticked: None }
    }

    /// The events since the last call.
    pub fn take_news(&mut self) -> Vec<MemberNews> {
        std::mem::take(&mut self.news)
    }

    /// Every node as it stands.
    pub fn members(&self, now: Instant) -> Vec<Member> {
        self.rows.iter().map(|(id, row)| row.member(*id, now)).collect()
    }

    /// A heartbeat of a node came by gossip.
    pub fn heard(&mut self, sighting: &Sighting, now: Instant) {
        let Some(row) = self.row(sighting.id, sighting.generation, &sighting.name, now) else { return };
        row.name.clone_from(&sighting.name);
        row.address = Some(sighting.address);
        row.facts.clone_from(&sighting.facts);
        row.pulse.beat(now);
        if row.state == MemberState::Suspected && !row.disconnected {
            self.set(sighting.id, MemberEvent::Returned { after: MemberState::Suspected });
        }
    }

    /// A connection to the node proved its address.
    pub fn connected(&mut self, id: NodeId, generation: u64, name: &str, now: Instant) {
        let Some(row) = self.row(id, generation, name, now) else { return };
        row.disconnected = false;
        row.said_goodbye = false;
        let event = match row.state {
            MemberState::Joined => return,
            MemberState::Suspected => MemberEvent::Returned { after: MemberState::Suspected },
            _ if row.was_member => MemberEvent::Returned { after: MemberState::Left },
            _ => MemberEvent::Joined,
        };
        // It has just proved that it is there, whatever was heard of it before, or not heard.
        row.pulse.forgive(row.pulse.silence(now), now);
        row.was_member = true;
        self.set(id, event);
    }

    /// The connection to the node broke, and is being made again.
    pub fn disconnected(&mut self, id: NodeId, generation: u64, why: &str) {
        if let Some(row) = self.member_row(id, generation) {
            row.disconnected = true;
            if row.state == MemberState::Joined {
                self.set(id, MemberEvent::Suspected { why: format!("the connection broke: {why}") });
            }
        }
    }

    /// The connection to the node broke, and cannot be made again.
    pub fn lost(&mut self, id: NodeId, generation: u64, why: &str) {
        if self.member_row(id, generation).is_some() {
            self.set(id, MemberEvent::Left { why: format!("the connection was lost: {why}") });
        }
    }

    /// The node said that it leaves.
    pub fn goodbye(&mut self, id: NodeId, generation: u64) {
        if let Some(row) = self.rows.get_mut(&id).filter(|row| row.generation == generation) {
            row.said_goodbye = true;
        }
        if self.member_row(id, generation).is_some() {
            self.set(id, MemberEvent::Left { why: "it said goodbye".to_owned() });
        }
    }

    /// Time went by. Call it every 100 ms: what it comes late by, this process was away, and nobody is silent by that.
    pub fn tick(&mut self, now: Instant) {
        let gap = self.ticked.map_or(Duration::ZERO, |ticked| now.saturating_duration_since(ticked));
        self.ticked = Some(now);
        let mut events = Vec::new();
        for (id, row) in &mut self.rows {
            if gap > STOOD_STILL {
                row.pulse.forgive(gap.saturating_sub(TICK), now);
            }
            events.extend(row.judge(now).map(|event| (*id, event)));
        }
        for (id, event) in events {
            self.set(id, event);
        }
        self.rows.retain(|_, row| {
            let kept = match row.state {
                MemberState::Known => REMEMBER_KNOWN,
                MemberState::Left => REMEMBER_LEFT,
                MemberState::Joined | MemberState::Suspected => return true,
            };
            row.pulse.silence(now) < kept
        });
    }

    /// The row of this start of the node; `None` for the node itself, and for news of an older start.
    fn row(&mut self, id: NodeId, generation: u64, name: &str, now: Instant) -> Option<&mut Row> {
        if id == self.me || (self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&id)) {
            return None;
        }
        let known = self.rows.get(&id).map(|row| (row.generation, row.state, row.was_member));
        let was_member = match known {
            Some((older, _, _)) if older > generation => return None,
            Some((same, _, _)) if same == generation => return self.rows.get_mut(&id),
            Some((_, state, was_member)) => {
                if matches!(state, MemberState::Joined | MemberState::Suspected) {
                    self.set(id, MemberEvent::Left { why: "it started anew".to_owned() });
                }
                was_member
            }
            None => false,
        };
        let row = Row {
            generation,
            name: name.to_owned(),
            address: None,
            facts: BTreeMap::new(),
            state: MemberState::Known,
            why: String::new(),
            was_member,
            disconnected: false,
            said_goodbye: false,
            pulse: Pulse::since(now),
        };
        self.rows.insert(id, row);
        self.rows.get_mut(&id)
    }

    fn member_row(&mut self, id: NodeId, generation: u64) -> Option<&mut Row> {
        let member = |row: &&mut Row| {
            row.generation == generation && matches!(row.state, MemberState::Joined | MemberState::Suspected)
        };
        self.rows.get_mut(&id).filter(member)
    }

    fn set(&mut self, id: NodeId, event: MemberEvent) {
        let Some(row) = self.rows.get_mut(&id) else { return };
        (row.state, row.why) = match &event {
            MemberEvent::Joined | MemberEvent::Returned { .. } => (MemberState::Joined, String::new()),
            MemberEvent::Suspected { why } => (MemberState::Suspected, why.clone()),
            MemberEvent::Left { why } => (MemberState::Left, why.clone()),
        };
        self.news.push(MemberNews { id, name: row.name.clone(), generation: row.generation, event });
    }
}

impl Row {
    /// What its silence means.
    fn judge(&self, now: Instant) -> Option<MemberEvent> {
        let silence = self.pulse.silence(now);
        let suspicion = self.pulse.suspicion(now);
        let (suspected, left) = (suspicion > SUSPECT_PHI, suspicion > LEFT_PHI);
        let why = || match self.pulse.phi(now) {
            Some(phi) => format!("not heard for {:.1} s (phi {phi:.1})", silence.as_secs_f64()),
            None => format!(
                "connected, but no datagram of it came within {:.1} s: does a firewall stop its UDP port?",
                silence.as_secs_f64()
            ),
        };
        match self.state {
            MemberState::Joined | MemberState::Suspected if left => Some(MemberEvent::Left { why: why() }),
            MemberState::Joined if suspected => Some(MemberEvent::Suspected { why: why() }),
            _ => None,
        }
    }

    fn member(&self, id: NodeId, now: Instant) -> Member {
        let phi = self.pulse.phi(now);
        let no_member = matches!(self.state, MemberState::Known | MemberState::Left);
        Member {
            id,
            name: self.name.clone(),
            generation: self.generation,
            address: self.address,
            facts: self.facts.clone(),
            state: self.state,
            why: self.why.clone(),
            phi,
            silent_for: self.pulse.silence(now),
            worth_dialling: no_member && !self.said_goodbye && phi.is_some_and(|phi| phi < LEFT_PHI),
        }
    }
}
