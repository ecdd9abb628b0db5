//! `cluster/local.sh`, as a user runs it.

use std::path::Path;
use std::process::Command;

use crate::daemon::{fail, succeed};
use crate::rig::{Lan, program};

fn script(folder: &Path, arguments: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut command = Command::new(root.join("cluster/local.sh"));
    command.args(arguments).env("DAE_NODE", program().get_program());
    // Its own name, for a user's cluster may be up beside this test.
    command.env("DAE_LOCAL_NAME", format!("sh{}", std::process::id()));
    command.env("TMPDIR", folder).env_remove("XDG_RUNTIME_DIR");
    command
}

#[test]
fn a_cluster_goes_up_and_comes_down_and_leaves_nothing() {
    // Tells whether namespaces can be had.
    if Lan::of(0).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| script(folder.path(), arguments);
    let name = format!("sh{}", std::process::id());

    assert_eq!(succeed(&mut run(&["status"])).trim(), "down");
    let up = run(&["up", "3"]).output().unwrap();
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));

    let mut nodes = program();
    nodes.args(["nodes", "--cluster", &name, "--json"]).env("TMPDIR", folder.path());
    let answer = succeed(nodes.env_remove("XDG_RUNTIME_DIR"));
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["nodes"].as_array().unwrap().len(), 3, "{answer:#}");

    let address = succeed(&mut run(&["exec", "n2", "ip", "-br", "addr", "show", "eth0"]));
    assert!(address.contains("10.87.0.2/24") && address.contains("fdda:e087::2/64"), "{address}");
    assert!(fail(&mut run(&["exec", "n9", "true"])).contains("n9"));

    // Once is enough, and another size is not what is there.
    let again = run(&["up", "3"]).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("already up"));
    assert!(again.status.success());
    assert!(fail(&mut run(&["up", "2"])).contains("down"));

    let status = succeed(&mut run(&["status"]));
    let pids: Vec<&str> = status.split("pid ").skip(1).map(|rest| rest.split(',').next().unwrap()).collect();
    assert_eq!(pids.len(), 3, "{status}");
    // One that is killed first is no hindrance.
    succeed(Command::new("kill").args(["-9", pids[0]]));
    succeed(&mut run(&["down"]));
    succeed(&mut run(&["down"]));

    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let left: Vec<_> = left.filter(|path| std::fs::read_dir(path).map_or(1, Iterator::count) > 0).collect();
    assert!(left.is_empty(), "{left:?}");
    let namespaces = succeed(Command::new("ip").args(["netns", "list"]));
    assert!(!namespaces.contains(&format!("dae-{name}-")), "{namespaces}");
    for pid in pids {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(!state.contains("(dae-node)") || state.contains(") Z "), "{state}");
    }
    assert_eq!(succeed(&mut run(&["status"])).trim(), "down");
}

#[test]
fn a_mistake_gets_the_usage() {
    let folder = tempfile::tempdir().unwrap();
    for wrong in [&[][..], &["sideways"], &["exec", "n1"]] {
        assert!(fail(&mut script(folder.path(), wrong)).contains("usage: cluster/local.sh"), "{wrong:?}");
    }
}
