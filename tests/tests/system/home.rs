//! A daemon and a job's home, as far as hosts see them. The hosts are real processes.

use crate::program::{program, root};
use dae_actor::{
    Accepts, Actor, Context, Handler, Peer, Registry, Remote, Reply, ReplyTo, Spawn, System, reply,
};
use dae_cluster::HostActor;
use dae_cluster::protocol::Work;
use dae_cluster::protocol::hosts::{
    Assignment, Enlist, Enlisted, FACT_TOKEN, HOST, HostActors, HostDone, HostProgress, HostSpot, JobKey,
    ListActors, NODE, Outcome, Progress, StopHost, TOKEN,
};
use dae_net::{Address, Cluster, Endpoint, Hello, Identity, Purpose};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// What one host is told.
#[derive(Clone)]
pub struct Order {
    pub topology: String,
    pub run_dir: Option<PathBuf>,
    pub resume: bool,
}

/// How one host ended.
#[derive(Debug)]
pub struct Ending {
    pub outcome: Option<Outcome>,
    /// The exit code, or the negative of the signal.
    pub code: i32,
    pub stderr: String,
    pub at: Instant,
}

impl Ending {
    /// The cause of its failure, with whom it blames.
    pub fn failure(&self) -> (&str, u8, Option<u32>) {
        match &self.outcome {
            Some(Outcome::Failed { cause, code, blames }) => (cause, *code, *blames),
            _ => panic!("it did not fail: {self:?}"),
        }
    }
}

/// The hosts of a job while they run.
pub struct Hosts {
    job: Arc<Mutex<Job>>,
    peers: Rc<RefCell<BTreeMap<String, Peer>>>,
    children: Vec<Child>,
}

#[derive(Default)]
struct Job {
    orders: Vec<Order>,
    waiting: BTreeMap<usize, (Enlist, ReplyTo<Enlisted>)>,
    progress: Vec<Progress>,
    outcomes: BTreeMap<usize, Outcome>,
}

/// What hosts ask and tell.
struct Daemon(Arc<Mutex<Job>>);

impl Actor for Daemon {
    const KIND: &'static str = "node";
}

impl Remote for Daemon {
    fn accepts(list: &mut Accepts<Self>) {
        list.later::<Enlist, Enlisted>("enlist");
        list.message::<HostProgress>("host-progress").message::<HostDone>("host-done");
    }
}

impl Handler<Enlist> for Daemon {
    fn handle(&mut self, enlist: Enlist, _: &mut Context<'_, Self>) -> Reply<Enlisted> {
        let (to, reply) = reply(NODE);
        let mut job = self.0.lock().unwrap();
        job.waiting.insert(enlist.token.parse().unwrap(), (enlist, to));
        if job.waiting.len() < job.orders.len() {
            return reply;
        }
        let waiting = std::mem::take(&mut job.waiting);
        let spot = |(index, (enlist, _)): (&usize, &(Enlist, _))| HostSpot {
            node: format!("n{index}"),
            identity: enlist.identity,
            addresses: enlist.bulk_addresses.clone(),
            program_sha256: enlist.program_sha256.clone(),
        };
        let hosts: Vec<_> = waiting.iter().map(spot).collect();
        for (index, (_, to)) in waiting {
            let Order { topology, run_dir, resume } = job.orders[index].clone();
            let (index, hosts, job_key) = (index as u32, hosts.clone(), JobKey([9; 32]));
            let work = Work::Train(topology);
            let assignment = Assignment { index, hosts, work, run_dir, resume, job_key };
            to.send(Enlisted::Assigned(Box::new(assignment)));
        }
        reply
    }
}

impl Handler<HostProgress> for Daemon {
    fn handle(&mut self, told: HostProgress, _: &mut Context<'_, Self>) {
        self.0.lock().unwrap().progress.push(told.progress);
    }
}

impl Handler<HostDone> for Daemon {
    fn handle(&mut self, done: HostDone, _: &mut Context<'_, Self>) {
        // Its job is called after it, for want of another sign of who speaks.
        let index = done.job.strip_prefix("job-").unwrap().parse().unwrap();
        self.0.lock().unwrap().outcomes.insert(index, done.outcome);
    }
}

impl Hosts {
    /// Waits for something.
    pub async fn until(&mut self, what: &str, mut ready: impl FnMut(&[Progress]) -> bool) {
        let start = Instant::now();
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while !ready(&self.job.lock().unwrap().progress) {
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
            for child in &mut self.children {
                assert!(child.try_wait().unwrap().is_none(), "a host ended before {what}");
            }
            ticks.tick().await;
        }
    }

    /// Asks one of them to stop.
    pub fn stop(&self, index: usize, why: &str) {
        self.host(index).tell(StopHost { why: why.into() }).unwrap();
    }

    /// The actors of one of them.
    pub async fn actors(&self, index: usize) -> HostActors {
        self.host(index).ask(ListActors {}, PATIENCE).await.unwrap()
    }

    /// Ends the daemon's link to one of them.
    pub fn leave(&self, index: usize) {
        self.peers.borrow()[&index.to_string()].close("the daemon leaves");
    }

    /// Kills one of them.
    pub fn kill(&mut self, index: usize) {
        self.children[index].kill().unwrap();
    }

    fn host(&self, index: usize) -> dae_actor::ActorRef<HostActor> {
        self.peers.borrow()[&index.to_string()].actor(HOST)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Ended already, as a rule.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs a job of one host for each order, to the end of all of them.
pub fn job(orders: Vec<Order>, meddle: impl AsyncFnOnce(&mut Hosts)) -> Vec<Ending> {
    let folder = tempfile::tempdir().unwrap();
    let job = Arc::new(Mutex::new(Job { orders, ..Job::default() }));
    let endings = System::run(async |mut system| {
        let registry = Registry::new();
        let shared = job.clone();
        registry.publish(&system.start(Spawn::named(NODE), move || Daemon(shared.clone()))).unwrap();
        let identity = Arc::new(Identity::generate().unwrap());
        let endpoint = Endpoint::new(identity, Cluster::loopback("c"));
        let socket = folder.path().join("c").join("n.sock");
        std::fs::create_dir(socket.parent().unwrap()).unwrap();
        let mut listener = endpoint.listen(&Address::Unix(socket.clone())).await.unwrap();
        let peers = Rc::<RefCell<BTreeMap<_, _>>>::default();
        let known = peers.clone();
        tokio::task::spawn_local(async move {
            loop {
                let incoming = listener.accept().await.unwrap();
                let hello = |_: &_| Ok(Hello::new("n", 0, Purpose::Node));
                let link = endpoint.accept(incoming, hello, PATIENCE).await.unwrap();
                assert_eq!(link.peer.hello.purpose, Purpose::Host);
                let token = link.peer.hello.facts[FACT_TOKEN].clone();
                known.borrow_mut().insert(token, Peer::over(link, registry.clone()));
            }
        });
        let many = job.lock().unwrap().orders.len();
        let log = |index: usize| folder.path().join(format!("{index}.log"));
        let start = |index: usize| {
            let mut host = Command::new(program("dae-host"));
            host.arg("serve").arg("--socket").arg(&socket).args(["--job", &format!("job-{index}")]);
            host.env(TOKEN, index.to_string()).env_remove("RUST_LOG").current_dir(root());
            host.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(log(index)).unwrap());
            host.spawn().unwrap()
        };
        let mut hosts = Hosts { job: job.clone(), peers, children: (0..many).map(start).collect() };
        meddle(&mut hosts).await;
        let (begun, mut ticks) = (Instant::now(), tokio::time::interval(Duration::from_millis(5)));
        let mut ended: Vec<_> = (0..many).map(|_| None).collect();
        while ended.iter().any(Option::is_none) {
            assert!(begun.elapsed() < PATIENCE, "a host did not end");
            ticks.tick().await;
            for (child, ended) in hosts.children.iter_mut().zip(&mut ended) {
                let status = child.try_wait().unwrap();
                *ended = ended.take().or_else(|| Some((status?, Instant::now())));
            }
        }
        ended
            .into_iter()
            .map(Option::unwrap)
            .enumerate()
            .map(|(index, (status, at))| {
                use std::os::unix::process::ExitStatusExt;
                let code = status.code().unwrap_or_else(|| -status.signal().unwrap());
                let stderr = std::fs::read_to_string(log(index)).unwrap();
                Ending { outcome: job.lock().unwrap().outcomes.remove(&index), code, stderr, at }
            })
            .collect()
    });
    endings.unwrap()
}
