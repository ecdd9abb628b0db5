//! Whole daemons in one process, over the loopback's TCP and UDP.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use dae_actor::System;
use dae_cluster::Sockets;
use dae_cluster::client::{Client, ClientError};
use dae_cluster::daemon::{Daemon, DaemonError, Settings};
use dae_cluster::protocol::{ListNodes, NodeInfo, NodeState, NodeStatus, ShowStatus};
use dae_net::ClusterKey;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A daemon for this machine only; all in one folder find each other.
fn keyless(root: &Path, name: &str) -> Settings {
    Settings {
        cluster: "test".into(),
        name: Some(name.into()),
        runtime_dir: Some(root.to_owned()),
        state_dir: Some(root.to_owned()),
        ..Settings::default()
    }
}

/// A daemon with a key, which listens at the loopback and is found by nobody.
fn keyed(root: &Path, name: &str, seeds: &[&Daemon]) -> Settings {
    let key_file = root.join("key");
    if !key_file.exists() {
        ClusterKey::generate().unwrap().write_new(&key_file).unwrap();
    }
    Settings {
        key_file: Some(key_file),
        listen: Some(([127, 0, 0, 1], 0).into()),
        seeds: seeds.iter().map(|daemon| daemon.me().listens.to_string()).collect(),
        discovery: vec![dae_cluster::daemon::Backend::Seeds],
        ..keyless(root, name)
    }
}

async fn nodes(daemon: &Daemon) -> Vec<NodeInfo> {
    daemon.node().ask(ListNodes {}, PATIENCE).await.unwrap().within(PATIENCE).await.unwrap().nodes
}

async fn status(daemon: &Daemon) -> NodeStatus {
    daemon.node().ask(ShowStatus {}, PATIENCE).await.unwrap()
}

/// Waits until `what` holds of the daemon.
async fn until<T>(daemon: &Daemon, what: impl AsyncFn(&Daemon) -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    let mut pause = tokio::time::interval(Duration::from_millis(20));
    loop {
        if let Some(is) = what(daemon).await {
            return is;
        }
        assert!(Instant::now() < end, "waited in vain: {:#?}", status(daemon).await);
        pause.tick().await;
    }
}

async fn sees(daemon: &Daemon, count: usize) {
    until(daemon, async |daemon| {
        let nodes = nodes(daemon).await;
        (nodes.iter().filter(|node| node.state == NodeState::Alive).count() == count).then_some(())
    })
    .await;
}

async fn event(daemon: &Daemon, words: &[&str]) -> String {
    until(daemon, async |daemon| {
        let all = status(daemon).await.events.into_iter().map(|event| event.what);
        all.into_iter().find(|what| words.iter().all(|word| what.contains(word)))
    })
    .await
}

fn run<T>(test: impl AsyncFnOnce(System, &Path) -> T) -> T {
    let root = tempfile::tempdir().unwrap();
    System::run(async |system| test(system, root.path()).await).unwrap()
}

#[test]
fn daemons_of_one_user_find_each_other_without_a_key_and_leave_nothing() {
    run(async |mut system, root| {
        let mut daemons = Vec::new();
        for name in ["n1", "n2", "n3"] {
            daemons.push(Daemon::start(&mut system, &keyless(root, name)).await.unwrap());
        }
        for daemon in &daemons {
            sees(daemon, 3).await;
        }
        let list = nodes(&daemons[0]).await;
        let names: Vec<_> = list.iter().map(|node| &*node.name).collect();
        assert_eq!(names, ["n1", "n2", "n3"]);
        assert!(list.iter().all(|node| node.cores > 0 && node.addresses[0].ip().is_loopback()), "{list:?}");
        // Its own node a daemon does not suspect; the others once it has heard them twice.
        until(&daemons[0], async |daemon| {
            let suspicion: Vec<_> = nodes(daemon).await.iter().map(|node| node.phi.is_some()).collect();
            (suspicion == [false, true, true]).then_some(())
        })
        .await;

        let client =
            Client::connect_in(&Sockets::under(root, "test").unwrap(), "test", Some("n3")).await.unwrap();
        assert_eq!(client.nodes().await.unwrap().answered_by, "n3");
        assert_eq!(client.leave().await.unwrap(), "n3");
        drop(daemons.pop());
        let left = async |daemon: &Daemon| {
            nodes(daemon).await.into_iter().find(|node| node.name == "n3" && node.state == NodeState::Left)
        };
        let gone = until(&daemons[0], left).await;
        assert!(gone.reason.contains("goodbye"), "{}", gone.reason);
        event(&daemons[1], &["n3", "left", "goodbye"]).await;
        for daemon in daemons {
            daemon.leave().await.unwrap();
        }
        assert!(!root.join("dae/test").join("n1.sock").exists());
        let sockets = std::fs::read_dir(root.join("dae/test")).unwrap();
        let left: Vec<_> = sockets.map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".sock")), "{left:?}");
    });
}

#[test]
fn one_seed_is_enough_for_all_to_find_all_and_who_returns_is_told_apart() {
    run(async |mut system, root| {
        let first = Daemon::start(&mut system, &keyed(root, "n1", &[])).await.unwrap();
        let second = Daemon::start(&mut system, &keyed(root, "n2", &[&first])).await.unwrap();
        let third = Daemon::start(&mut system, &keyed(root, "n3", &[&first])).await.unwrap();
        for daemon in [&first, &second, &third] {
            sees(daemon, 3).await;
        }
        let generation = third.me().generation;
        third.leave().await.unwrap();
        event(&second, &["n3", "left"]).await;
        let third = Daemon::start(&mut system, &keyed(root, "n3", &[&first])).await.unwrap();
        assert!(third.me().generation > generation);
        event(&second, &["n3", "returned"]).await;
        sees(&second, 3).await;
    });
}

#[test]
fn another_key_is_refused_with_the_reason_on_both_sides() {
    run(async |mut system, root| {
        let other = root.join("other");
        std::fs::create_dir(&other).unwrap();
        let inside = Daemon::start(&mut system, &keyed(root, "n1", &[])).await.unwrap();
        let stranger = Settings { runtime_dir: Some(root.to_owned()), ..keyed(&other, "n2", &[&inside]) };
        let stranger = Daemon::start(&mut system, &stranger).await.unwrap();
        let line = event(&stranger, &["nobody is joined yet", "key"]).await;
        assert!(line.contains(&inside.me().listens.to_string()), "{line}");
        event(&inside, &["turned away", "key"]).await;
        let declined = status(&stranger).await.declined;
        assert!(declined[0].why.contains("key"), "{declined:?}");
        sees(&inside, 1).await;
    });
}

#[test]
fn a_second_node_of_a_name_is_refused_and_told_the_remedy() {
    run(async |mut system, root| {
        let first = Daemon::start(&mut system, &keyed(root, "n1", &[])).await.unwrap();
        let twin = Daemon::start(&mut system, &keyed(root, "n1", &[&first])).await.err().unwrap();
        assert!(matches!(twin, DaemonError::Socket(_)) && twin.to_string().contains("--name"), "{twin}");
        // On another machine, the name is free.
        let other = root.join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let elsewhere = Settings {
            runtime_dir: Some(other.clone()),
            state_dir: Some(other),
            ..keyed(root, "n1", &[&first])
        };
        let twin = Daemon::start(&mut system, &elsewhere).await.unwrap();
        event(&twin, &["a node named `n1` is in cluster test already", "--name"]).await;
        event(&first, &["turned away", "--name"]).await;
    });
}

#[test]
fn a_node_that_cannot_be_dialled_back_is_told_so_and_is_no_member() {
    run(async |mut system, root| {
        let first = Daemon::start(&mut system, &keyed(root, "n1", &[])).await.unwrap();
        let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let hidden = Settings { advertise: vec![nowhere], ..keyed(root, "n2", &[&first]) };
        let hidden = Daemon::start(&mut system, &hidden).await.unwrap();
        let told = event(&hidden, &["n1 cannot reach this node", "--advertise"]).await;
        assert!(told.contains(&nowhere.to_string()) && told.contains("refused"), "{told}");
        event(&first, &["n2 has dialled this node, but cannot be dialled back"]).await;
        assert_eq!(nodes(&first).await.iter().filter(|node| node.name == "n2").count(), 0);
    });
}

#[test]
fn a_client_without_a_daemon_is_told_how_to_start_one() {
    run(async |_, root| {
        let sockets = Sockets::under(root, "test").unwrap();
        let error = Client::connect_in(&sockets, "test", None).await.err().unwrap();
        assert!(matches!(error, ClientError::NoDaemon { .. }));
        assert!(error.to_string().contains("dae-node join --cluster test"), "{error}");
        sockets.make().unwrap();
        drop(std::os::unix::net::UnixListener::bind(sockets.socket("n1")).unwrap());
        let error = Client::connect_in(&sockets, "test", None).await.err().unwrap();
        assert!(matches!(error, ClientError::Dead { .. }), "{error}");
        let error = Client::connect_in(&sockets, "test", Some("n9")).await.err().unwrap();
        assert!(error.to_string().contains("there are: n1"), "{error}");
    });
}
