//! Programs that are not ours see us.

use std::fs;
use std::time::Duration;

use crate::rig::{Lan, poll};

/// A message bus of its own, on which everything is allowed.
const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=FOLDER/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// Avahi's own daemon and browser on another machine find the service, with a port, an address, and a version.
#[test]
fn avahi_sees_a_node() {
    let Some(lan) = Lan::of(2) else { return };
    let folder = lan.folder().to_owned();
    let there =
        |name: &str| ["/usr/sbin", "/usr/bin"].iter().any(|f| fs::exists(format!("{f}/{name}")).unwrap());
    if !["avahi-daemon", "avahi-browse", "dbus-daemon"].into_iter().all(there) {
        eprintln!("not tested: avahi-daemon, avahi-utils and dbus are not installed");
        return;
    }
    let mut daemon = lan.start(1, &["--listen", "0.0.0.0:7946"]);
    daemon.ready();

    fs::write(folder.join("bus.conf"), BUS.replace("FOLDER", folder.to_str().unwrap())).unwrap();
    fs::write(folder.join("avahi.conf"), "[server]\nuse-ipv4=yes\nuse-ipv6=no\nallow-interfaces=eth0\n")
        .unwrap();
    let bus = format!("unix:path={}/bus", folder.display());
    // Avahi's folder of sockets is mounted anew, for this process alone.
    let script = format!(
        "mkdir -p /run/avahi-daemon && mount -t tmpfs tmpfs /run/avahi-daemon || exit
         setpriv --pdeathsig KILL dbus-daemon --config-file={0}/bus.conf --nofork --nopidfile &
         until [ -S {0}/bus ]; do sleep 0.05; done
         exec avahi-daemon --no-drop-root --no-chroot --no-rlimits -f {0}/avahi.conf",
        folder.display()
    );
    let mut shell = lan.at(2, "bash");
    let log = fs::File::create(folder.join("avahi.log")).unwrap();
    shell.args(["-c", &script]).env("DBUS_SYSTEM_BUS_ADDRESS", &bus);
    let mut avahi = shell.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();

    let mut heard = String::new();
    let found = poll(Duration::from_secs(20), || {
        let mut browse = lan.at(2, "avahi-browse");
        browse.args(["-rpt", "_dae._tcp"]).env("DBUS_SYSTEM_BUS_ADDRESS", &bus);
        heard = String::from_utf8_lossy(&browse.output().unwrap().stdout).into_owned();
        heard.lines().find(|line| line.starts_with('=')).map(str::to_owned)
    });
    avahi.kill().unwrap();
    avahi.wait().unwrap();
    let log = fs::read_to_string(folder.join("avahi.log")).unwrap();
    let line = found.unwrap_or_else(|| panic!("avahi-browse sees nothing: {heard}\n{log}"));
    let fields: Vec<&str> = line.split(';').collect();
    assert_eq!((fields[4], fields[7], fields[8]), ("_dae._tcp", "10.87.0.1", "7946"), "{line}");
    assert!(line.contains("\"v=") && line.contains("\"tag="), "{line}");
    assert!(!line.contains(crate::rig::CLUSTER), "the cluster's name is nobody's business: {line}");
}
