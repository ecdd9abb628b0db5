//! [`Membership`]: the roster, fed by gossip and by the connections.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chitchat::{
    Chitchat, ChitchatConfig, ChitchatHandle, ChitchatId, FailureDetectorConfig, Heartbeat, NodeState,
    spawn_chitchat,
};
use tokio::net::UdpSocket;
use tokio::sync::{broadcast, watch};
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::datagram::Sealer;
use super::member::{Member, MemberNews};
use super::roster::{Roster, Sighting, TICK};
use super::transport::{Counts, SealedTransport};
use crate::{Cluster, NodeId};

/// Each node talks to three others this often, and every talk carries the heartbeats of all.
const GOSSIP: Duration = Duration::from_millis(200);
/// The first datagrams to a node may be lost.
const MEETINGS: u8 = 8;
/// Looks between two of them.
const LOOKS_PER_MEETING: u8 = 3;
/// Addresses to meet at a time.
const MOST_MEETINGS: usize = 256;
/// Events that wait for a listener who is slow.
const EVENTS: usize = 1024;
/// What a node may say of itself.
const MOST_FACTS: usize = 24;
const FACT_BYTES: usize = 256;
const NAME: &str = "name";
const FACT: &str = "fact.";

/// What a node says of itself to the others.
#[derive(Clone, Debug)]
pub struct Myself {
    /// The node's identity.
    pub id: NodeId,
    /// The node's name.
    pub name: String,
    /// Which start of the node: each is larger than those before.
    pub generation: u64,
    /// Where the others reach the socket.
    pub advertise: SocketAddr,
    /// Whatever else is to be known of it; a few short entries.
    pub facts: BTreeMap<String, String>,
}

/// Why there is no membership.
#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    /// The socket is of no use.
    #[error("the UDP socket for membership cannot be used: {0}")]
    Socket(#[from] io::Error),
    /// Gossip did not start.
    #[error("gossip did not start: {0}")]
    Gossip(String),
    /// The facts would fill every datagram.
    #[error("too much to say of this node: at most {MOST_FACTS} facts of {FACT_BYTES} bytes, but {what}")]
    Facts {
        /// What is too much.
        what: String,
    },
}

/// Who is in the cluster, and who is alive: gossip over sealed datagrams, and what the connections tell.
///
/// The one who owns the connections says what happens to them. It dials whoever is
/// [worth dialling](Member::worth_dialling) and says [`connected`](Membership::connected), which makes it a member; when
/// a connection breaks it says [`disconnected`](Membership::disconnected), and after dialling again either `connected`
/// or [`lost`](Membership::lost). Events come in one order to all listeners; a listener who missed some
/// (`RecvError::Lagged`) reads [`members`](Membership::members) anew.
pub struct Membership {
    gossip: Arc<ChitchatHandle>,
    shared: Arc<Shared>,
    counts: Arc<Counts>,
    looking: AbortHandle,
}

struct Shared {
    roster: Mutex<Roster>,
    /// Addresses to meet, and how often yet.
    meetings: Mutex<BTreeMap<SocketAddr, u8>>,
    members: watch::Sender<Vec<Member>>,
    events: broadcast::Sender<MemberNews>,
}

impl Membership {
    /// Nodes of a cluster at most. Each message of gossip names all of them, those included that left a moment ago, and a
    /// datagram holds the names of about 550.
    pub const MOST_NODES: usize = 250;

    /// Starts to gossip on `socket`. Needs a tokio runtime around it.
    ///
    /// # Errors
    /// If the socket is of no use, or the facts are too many.
    pub async fn start(cluster: &Cluster, me: Myself, socket: UdpSocket) -> Result<Self, MembershipError> {
        check(&me.facts)?;
        let listen_addr = socket.local_addr()?;
        let sealer = Sealer::new(&cluster.datagram_key());
        let counts = Arc::new(Counts::default());
        let transport = SealedTransport::new(socket, sealer, counts.clone());
        let config = ChitchatConfig {
            chitchat_id: ChitchatId::new(me.id.to_hex(), me.generation, me.advertise),
            cluster_id: cluster.name().to_owned(),
            gossip_interval: GOSSIP,
            listen_addr,
            seed_nodes: Vec::new(),
            failure_detector_config: detector(),
            marked_for_deletion_grace_period: Duration::from_secs(60),
            catchup_callback: None,
            extra_liveness_predicate: None,
        };
        let said = [(NAME.to_owned(), me.name)].into_iter();
        let said = said.chain(me.facts.into_iter().map(|(fact, value)| (format!("{FACT}{fact}"), value)));
        let gossip = spawn_chitchat(config, said.collect(), &transport)
            .await
            .map_err(|error| MembershipError::Gossip(error.to_string()))?;
        let gossip = Arc::new(gossip);
        let shared = Arc::new(Shared {
            roster: Mutex::new(Roster::new(me.id)),
            meetings: Mutex::default(),
            members: watch::Sender::new(Vec::new()),
            events: broadcast::Sender::new(EVENTS),
        });
        let looking = tokio::spawn(look(gossip.clone(), shared.clone())).abort_handle();
        Ok(Self { gossip, shared, counts, looking })
    }

    /// Every other node as it stands. The receiver is told of every change but that of the suspicion, which is fresh
    /// to 100 ms whenever it is read.
    pub fn members(&self) -> watch::Receiver<Vec<Member>> {
        self.shared.members.subscribe()
    }

    /// What happens to the members from now on.
    pub fn events(&self) -> broadcast::Receiver<MemberNews> {
        self.shared.events.subscribe()
    }

    /// Begins to gossip with whoever is at this address, if it holds the key.
    pub fn meet(&self, address: SocketAddr) {
        let mut meetings = self.shared.meetings.lock().unwrap_or_else(PoisonError::into_inner);
        if meetings.len() < MOST_MEETINGS && meetings.insert(address, 0).is_none() {
            // It fails only when gossip has ended.
            let _ = self.gossip.gossip(address);
        }
    }

    /// A connection to the node proved its address: it is a member.
    pub fn connected(&self, id: NodeId, generation: u64, name: &str) {
        self.shared.tell(|roster, now| roster.connected(id, generation, name, now));
    }

    /// The connection to the node broke, and is being made again.
    pub fn disconnected(&self, id: NodeId, generation: u64, why: &str) {
        self.shared.tell(|roster, _| roster.disconnected(id, generation, why));
    }

    /// The connection to the node broke, and cannot be made again.
    pub fn lost(&self, id: NodeId, generation: u64, why: &str) {
        self.shared.tell(|roster, _| roster.lost(id, generation, why));
    }

    /// The node said that it leaves.
    pub fn goodbye(&self, id: NodeId, generation: u64) {
        self.shared.tell(|roster, _| roster.goodbye(id, generation));
    }

    /// Says something new of this node.
    ///
    /// # Errors
    /// If it is too long.
    pub async fn say(&self, fact: &str, value: &str) -> Result<(), MembershipError> {
        check(&BTreeMap::from([(fact.to_owned(), value.to_owned())]))?;
        self.gossip
            .with_chitchat(|chitchat| chitchat.self_node_state().set(format!("{FACT}{fact}"), value))
            .await;
        Ok(())
    }

    /// Datagrams that no holder of the key has made: noise, another cluster, or somebody hostile.
    pub fn garbage(&self) -> u64 {
        self.counts.garbage.load(Ordering::Relaxed)
    }

    /// Datagrams that could not be sent.
    pub fn unsent(&self) -> u64 {
        self.counts.unsent.load(Ordering::Relaxed)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.looking.abort();
        self.gossip.abort();
    }
}

impl Shared {
    fn tell(&self, news: impl FnOnce(&mut Roster, Instant)) {
        let mut roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        news(&mut roster, now);
        let members = roster.members(now);
        self.members.send_if_modified(|shown| {
            let changed = !same(shown, &members);
            *shown = members;
            changed
        });
        // Under the lock, so that all listeners hear one order.
        for each in roster.take_news() {
            let _ = self.events.send(each);
        }
    }

    fn due_meetings(&self) -> Vec<SocketAddr> {
        let mut meetings = self.meetings.lock().unwrap_or_else(PoisonError::into_inner);
        meetings.values_mut().for_each(|looks| *looks += 1);
        meetings.retain(|_, looks| *looks <= MEETINGS * LOOKS_PER_MEETING);
        let due = |looks: u8| looks.is_multiple_of(LOOKS_PER_MEETING);
        meetings.iter().filter(|(_, looks)| due(**looks)).map(|(address, _)| *address).collect()
    }
}

/// Hands what gossip has brought to the roster.
async fn look(gossip: Arc<ChitchatHandle>, shared: Arc<Shared>) {
    let chitchat = gossip.chitchat();
    let mut seen = HashMap::new();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for address in shared.due_meetings() {
            let _ = gossip.gossip(address);
        }
        let heard = beats(&*chitchat.lock().await, &mut seen);
        shared.tell(|roster, now| {
            heard.iter().for_each(|sighting| roster.heard(sighting, now));
            roster.tick(now);
        });
    }
}

/// The nodes whose heartbeat went on since the last look. One seen for the first time does not count: others may
/// speak of it long after it died.
fn beats(chitchat: &Chitchat, seen: &mut HashMap<ChitchatId, Heartbeat>) -> Vec<Sighting> {
    let states = chitchat.node_states();
    seen.retain(|id, _| states.contains_key(id));
    let mut went_on =
        |id: &ChitchatId, beat| seen.insert(id.clone(), beat).is_some_and(|before| before < beat);
    states
        .iter()
        .filter(|(id, state)| went_on(id, state.heartbeat()))
        .filter_map(|(id, state)| sighting(id, state))
        .collect()
}

fn sighting(id: &ChitchatId, state: &NodeState) -> Option<Sighting> {
    let facts = state.key_values().filter_map(|(key, value)| Some((key.strip_prefix(FACT)?, value)));
    let facts = facts.take(MOST_FACTS).map(|(key, value)| (bounded(key), bounded(value)));
    Some(Sighting {
        id: id.node_id.parse().ok()?,
        generation: id.generation_id,
        name: bounded(state.get(NAME)?),
        address: id.gossip_advertise_addr,
        facts: facts.collect(),
    })
}

fn bounded(text: &str) -> String {
    text.chars().filter(|each| !each.is_control()).take(FACT_BYTES).collect()
}

fn check(facts: &BTreeMap<String, String>) -> Result<(), MembershipError> {
    if facts.len() > MOST_FACTS {
        return Err(MembershipError::Facts { what: format!("there are {}", facts.len()) });
    }
    match facts.iter().find(|(fact, value)| fact.len().max(value.len()) > FACT_BYTES) {
        Some((fact, value)) => {
            let what = format!("{:?} has {} bytes", bounded(fact), fact.len().max(value.len()));
            Err(MembershipError::Facts { what })
        }
        None => Ok(()),
    }
}

/// Whether nothing but the suspicion differs.
fn same(a: &[Member], b: &[Member]) -> bool {
    let plain = |each: &Member| Member { phi: None, silent_for: Duration::ZERO, ..each.clone() };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| plain(a) == plain(b))
}

/// Gossip's own detector, which only says to whom it is worth talking.
fn detector() -> FailureDetectorConfig {
    FailureDetectorConfig {
        phi_threshold: 8.0,
        // With the weight of the first interval the mean stays near it, however often others bring news.
        sampling_window_size: 1,
        max_interval: Duration::from_secs(1),
        initial_interval: Duration::from_millis(250),
        dead_node_grace_period: Duration::from_secs(120),
    }
}
