//! How soon a daemon is there, and what it costs while nothing happens.

use std::time::{Duration, Instant};

use crate::rig::Lan;

/// Ready soon, small, and quiet. The promises are 0.3 s, 25 MB and 1 % of a core on a machine that is not busy.
#[test]
fn a_daemon_is_light() {
    let Some(lan) = Lan::of(3) else { return };
    let mut daemons: Vec<_> = (1..=3).map(|place| lan.start(place, &[])).collect();
    let ready: Vec<Duration> = daemons.iter_mut().map(|daemon| daemon.ready()).collect();
    for daemon in &mut daemons {
        daemon.until_it_sees(3, Duration::from_secs(10));
    }
    let seconds: u64 = std::env::var("DAE_IDLE_S").map_or(5, |s| s.parse().unwrap());
    let (before, start) = (daemons[0].computed(), Instant::now());
    while let Some(left) = Duration::from_secs(seconds).checked_sub(start.elapsed()) {
        std::thread::park_timeout(left);
    }
    let idle = (daemons[0].computed() - before).as_secs_f64() / start.elapsed().as_secs_f64();
    let resident = daemons[0].resident();
    println!(
        "ready after {ready:?}; {:.1} MB; {:.2} % of a core over {seconds} s",
        resident as f64 / 1e6,
        idle * 100.0
    );
    assert!(ready.iter().all(|time| *time < Duration::from_secs(2)), "{ready:?}");
    assert!(resident < 25_000_000, "{resident} bytes");
    assert!(idle < 0.03, "{:.2} % of a core", idle * 100.0);
}
