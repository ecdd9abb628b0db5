//! Who is turned away, and told why.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::daemon::{fail, succeed};
use crate::rig::{CLUSTER, Lan, program};

/// Two clusters on one network do not see each other at all.
#[test]
fn two_clusters_never_mix() {
    let Some(lan) = Lan::of(4) else { return };
    let key = lan.key();
    let mut red: Vec<_> = [1, 2].map(|place| lan.start_as(place, "red", &key, &[])).into();
    let mut blue: Vec<_> = [3, 4].map(|place| lan.start_as(place, "blue", &key, &[])).into();
    for daemon in red.iter_mut().chain(&mut blue) {
        daemon.until_it_sees(2, Duration::from_secs(10));
    }
    // Two more rounds of discovery change nothing: whoever is started now finds its own.
    drop(red.pop());
    let mut again = lan.start_as(2, "red", &key, &[]);
    again.ready();
    again.until_it_sees(2, Duration::from_secs(10));
    for daemon in red.iter().chain(&blue) {
        let answer = daemon.ask("nodes").unwrap();
        assert_eq!(answer["cluster"].as_str().unwrap().len(), if daemon.name < "n3".into() { 3 } else { 4 });
    }
    assert!(blue.iter().all(|daemon| daemon.sees().len() == 2));
    assert!(again.sees().iter().all(|(name, _)| name == "n1" || name == "n2"));
}

/// The cluster's name with another key: refused with one sentence, on both sides.
#[test]
fn a_wrong_key_is_told_on_both_sides() {
    let Some(lan) = Lan::of(2) else { return };
    let other = lan.folder().join("other-key");
    succeed(program().args(["key", "new"]).arg(&other));
    let mut right = lan.start(1, &["--listen", "0.0.0.0:7946"]);
    right.ready();
    let mut wrong = lan.start_as(2, CLUSTER, &other, &["--discovery", "seeds", "--seed", "10.87.0.1:7946"]);
    wrong.ready();
    wrong.told(&["key"], std::time::UNIX_EPOCH, Duration::from_secs(10));
    right.told(&["key"], std::time::UNIX_EPOCH, Duration::from_secs(10));
    assert_eq!((right.sees().len(), wrong.sees().len()), (1, 1));
}

/// A seed that belongs to another cluster says so.
#[test]
fn another_cluster_is_told_on_both_sides() {
    let Some(lan) = Lan::of(2) else { return };
    let mut red = lan.start_as(1, "red", &lan.key(), &["--listen", "0.0.0.0:7946"]);
    red.ready();
    let seed = ["--discovery", "seeds", "--seed", "10.87.0.1:7946"];
    let mut blue = lan.start_as(2, "blue", &lan.key(), &seed);
    blue.ready();
    blue.told(&["cluster"], std::time::UNIX_EPOCH, Duration::from_secs(10));
    red.told(&["cluster"], std::time::UNIX_EPOCH, Duration::from_secs(10));
    assert_eq!((red.sees().len(), blue.sees().len()), (1, 1));
}

/// A key that others can read is no key; a daemon without one serves this machine only.
#[test]
fn keys_are_kept_to_oneself() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    succeed(program().args(["key", "new"]).arg(&key));
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fail(program().args(["key", "new"]).arg(&key)).contains("not overwritten"));

    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    let mut join = program();
    join.env("XDG_RUNTIME_DIR", folder.path()).env("XDG_STATE_HOME", folder.path());
    let said = fail(join.args(["join", "--key-file"]).arg(&key));
    assert!(said.contains("chmod 600"), "{said}");

    let mut join = program();
    join.env("XDG_RUNTIME_DIR", folder.path()).env("XDG_STATE_HOME", folder.path());
    let said = fail(join.args(["join", "--listen", "0.0.0.0:0"]));
    assert!(said.contains("--key-file") && said.contains("key new"), "{said}");
}
