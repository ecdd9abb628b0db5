//! What this machine has to give: cores, memory, GPUs.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// More GPUs of one machine are not counted.
const MOST_GPUS: usize = 64;

/// What a machine has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Cores this process may use.
    pub cores: u32,
    /// Memory in bytes, or what the control group allows of it.
    pub memory: u64,
    /// Memory nobody uses, in bytes.
    pub memory_free: u64,
    /// The models of the GPUs.
    pub gpus: Vec<String>,
}

impl Resources {
    /// Looks. What cannot be read counts as nothing there.
    pub fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (memory, free) = memory(&text("/proc/meminfo"));
        let limit = text("/sys/fs/cgroup/memory.max").trim().parse().ok();
        let used = text("/sys/fs/cgroup/memory.current").trim().parse().unwrap_or(0);
        let (memory, memory_free) = limited(memory, free, limit, used);
        Self {
            cores: std::thread::available_parallelism()
                .map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
            memory,
            memory_free,
            gpus: gpus(Path::new("/proc/driver/nvidia/gpus")),
        }
    }
}

/// All and free memory by `/proc/meminfo`.
fn memory(meminfo: &str) -> (u64, u64) {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    (field("MemTotal").unwrap_or(0), field("MemAvailable").unwrap_or(0))
}

/// The same within a control group's limit.
fn limited(all: u64, free: u64, limit: Option<u64>, used: u64) -> (u64, u64) {
    match limit {
        Some(limit) if limit < all => (limit, free.min(limit.saturating_sub(used))),
        _ => (all, free),
    }
}

/// The models, one folder each, that the driver lists.
fn gpus(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<_> = entries.flatten().take(MOST_GPUS).map(|entry| entry.path()).collect();
    found.sort();
    let model = |path: &Path| {
        let information = fs::read_to_string(path.join("information")).unwrap_or_default();
        let model = information.lines().find_map(|line| line.strip_prefix("Model:")).map(str::trim);
        model.unwrap_or("unknown model").to_owned()
    };
    found.iter().map(|path| model(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:   8192 kB\n";
        assert_eq!(memory(text), (16 << 20, 8 << 20));
        assert_eq!(memory("garbage\nMemTotal: many kB"), (0, 0));
    }

    #[test]
    fn a_control_group_makes_the_machine_smaller_only() {
        assert_eq!(limited(100, 80, None, 0), (100, 80));
        assert_eq!(limited(100, 80, Some(40), 30), (40, 10));
        assert_eq!(limited(100, 5, Some(40), 30), (40, 5));
        assert_eq!(limited(100, 80, Some(1000), 30), (100, 80));
        assert_eq!(limited(100, 80, Some(40), 90), (40, 0));
    }

    #[test]
    fn gpus_are_named_by_the_driver() {
        let folder = tempfile::tempdir().expect("a folder");
        for (bus, text) in [("0000:02:00.0", "Model: \t\t B\nIRQ: 1\n"), ("0000:01:00.0", "Model: A\n")] {
            fs::create_dir(folder.path().join(bus)).expect("made");
            fs::write(folder.path().join(bus).join("information"), text).expect("written");
        }
        assert_eq!(gpus(folder.path()), ["A", "B"]);
        assert_eq!(gpus(&folder.path().join("none")), [""; 0]);
    }

    #[test]
    fn this_machine_has_something() {
        let here = Resources::read();
        assert!(here.cores >= 1 && here.memory > 1 << 20 && here.memory_free <= here.memory, "{here:?}");
    }
}
