//! The folder of a run, where none was named.

use std::path::{Path, PathBuf};

/// `runs/NAME`, or with a number behind it: the first that is free, or, to resume, the last that is not.
pub(crate) fn folder(name: &str, resume: bool) -> PathBuf {
    numbered(Path::new("runs"), name, resume, |path| path.exists())
}

fn numbered(runs: &Path, name: &str, resume: bool, taken: impl Fn(&Path) -> bool) -> PathBuf {
    let path = |n: u32| runs.join(if n == 1 { name.to_owned() } else { format!("{name}-{n}") });
    let free = (1..).find(|n| !taken(&path(*n))).unwrap_or(u32::MAX);
    path(if resume { free.saturating_sub(1).max(1) } else { free })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_numbered() {
        let with = |count: usize, resume| {
            let there = ["runs/a", "runs/a-2", "runs/a-3"][..count].to_vec();
            numbered(Path::new("runs"), "a", resume, |p| there.iter().any(|t| Path::new(t) == p))
        };
        assert_eq!(with(0, false), Path::new("runs/a"));
        assert_eq!(with(2, false), Path::new("runs/a-3"));
        assert_eq!(with(2, true), Path::new("runs/a-2"));
        assert_eq!(with(0, true), Path::new("runs/a"));
    }
}
