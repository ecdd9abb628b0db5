//! What a daemon remembers from start to start: its identity, its generation, and this user's own key.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use dae_net::{ClusterKey, Identity};

use super::DaemonError;

/// The folder of one user's daemons.
pub(super) struct State {
    folder: PathBuf,
}

impl State {
    /// In `root`, or else where the user keeps such things.
    pub(super) fn open(root: Option<&Path>) -> Result<Self, DaemonError> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let user = || {
            let home = || absolute("HOME").map(|home| home.join(".local/state"));
            absolute("XDG_STATE_HOME").or_else(home)
        };
        let Some(root) = root.map(Path::to_owned).or_else(user) else {
            return Err(DaemonError::Settings {
                what: "neither XDG_STATE_HOME nor HOME is set, so there is no place for the node's identity"
                    .into(),
                fix: "set XDG_STATE_HOME to a folder of yours",
            });
        };
        Ok(Self { folder: root.join("dae") })
    }

    /// The identity of the node `name` of `cluster`, the same at each start.
    pub(super) fn identity(&self, cluster: &str, name: &str) -> Result<Identity, DaemonError> {
        let folder = self.make(Some(cluster))?;
        Ok(Identity::load_or_create(&folder.join(format!("{name}.identity")))?)
    }

    /// The number of this start: the time in nanoseconds, but always more than at the last start, for clocks go back.
    pub(super) fn generation(&self, cluster: &str, name: &str) -> Result<u64, DaemonError> {
        let path = self.make(Some(cluster))?.join(format!("{name}.generation"));
        let last = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let generation = later(u64::try_from(since.as_nanos()).unwrap_or(0), last);
        let new = path.with_extension("generation.new");
        fs::write(&new, format!("{generation}\n"))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|error| io_error(&path, error))?;
        Ok(generation)
    }

    /// The key of all daemons that this user starts on this machine without one: whoever else is on the machine
    /// can connect to a port, but must not be able to start programs.
    pub(super) fn own_key(&self) -> Result<ClusterKey, DaemonError> {
        let path = self.make(None)?.join("this-machine.key");
        if !path.exists() {
            // Two daemons may come to this at once: the file becomes visible whole, and once.
            let new = path.with_extension(format!("new-{}", std::process::id()));
            ClusterKey::generate()?.write_new(&new)?;
            let linked = fs::hard_link(&new, &path);
            let _ = fs::remove_file(&new);
            linked.or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(io_error(&path, error)),
            })?;
        }
        Ok(ClusterKey::read(&path)?)
    }

    fn make(&self, cluster: Option<&str>) -> Result<PathBuf, DaemonError> {
        let folder = cluster.map_or_else(|| self.folder.clone(), |cluster| self.folder.join(cluster));
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map(|()| folder.clone()).map_err(|error| io_error(&folder, error))
    }
}

fn later(now: u64, last: Option<u64>) -> u64 {
    last.map_or(now, |last| now.max(last.saturating_add(1)))
}

fn io_error(path: &Path, error: io::Error) -> DaemonError {
    DaemonError::Io { what: path.display().to_string(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_the_same_at_each_start_and_later_each_time() {
        let root = tempfile::tempdir().expect("a folder");
        let state = State::open(Some(root.path())).expect("opened");
        let id = |name| state.identity("c", name).expect("an identity").id();
        assert_eq!(id("n1"), id("n1"));
        assert_ne!(id("n1"), id("n2"));
        let generation = || state.generation("c", "n1").expect("a number");
        let (first, second) = (generation(), generation());
        assert!(first < second && first > 1_700_000_000_000_000_000);
        assert_eq!((later(5, Some(9)), later(9, Some(5)), later(3, None)), (10, 9, 3), "a clock may go back");
    }

    #[test]
    fn the_own_key_is_made_once_and_kept() {
        let root = tempfile::tempdir().expect("a folder");
        let state = State::open(Some(root.path())).expect("opened");
        state.own_key().expect("made");
        let file = root.path().join("dae/this-machine.key");
        let before = fs::read(&file).expect("is there");
        state.own_key().expect("read");
        assert_eq!(fs::read(&file).expect("is there"), before);
        assert_eq!(fs::read_dir(root.path().join("dae")).expect("listed").count(), 1, "something is left");
    }
}
