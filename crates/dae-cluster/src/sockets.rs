//! Where the daemons of one cluster on this machine meet their clients: a folder of Unix sockets.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// More daemons of one cluster on one machine are not looked at.
const MOST_DAEMONS: usize = 256;
/// The kernel's bound on the path of a socket, less the final zero (unix(7)).
const LONGEST_PATH: usize = 107;
/// How often a folder may go away, with the last daemon in it, while it is claimed.
const TRIES: usize = 64;
/// The longest name of a node or a cluster.
const LONGEST_NAME: usize = 64;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The name cannot be the name of a file.
    #[error(
        "{what} `{name}`: a name is 1 to {LONGEST_NAME} letters, digits, `-`, `_` or `.`, the first no `.`"
    )]
    Name {
        /// What was to be named.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The folder is not this user's alone, so whoever else can write to it could listen in.
    #[error("{}: {why}; remove it, or set XDG_RUNTIME_DIR to a folder that only you can enter", folder.display())]
    NotPrivate {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A daemon of this name is alive.
    #[error(
        "a daemon named `{name}` runs on this machine already (process {pid}); choose another by --name, \
         or end that one by `dae-node leave`"
    )]
    Taken {
        /// The name.
        name: String,
        /// The process that has it.
        pid: String,
    },
    /// The path is longer than the system allows.
    #[error(
        "{}: longer than the {LONGEST_PATH} bytes a socket's path may have; set XDG_RUNTIME_DIR to a shorter \
         folder, or choose a shorter --name", path.display()
    )]
    Long {
        /// The path.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The folder of the sockets of one cluster.
#[derive(Debug, Clone)]
pub struct Sockets {
    folder: PathBuf,
    /// How many of the lowest folders go with the last daemon: its own, and all that nobody else makes.
    passing: usize,
}

/// A daemon's own name on this machine; dropping it removes the socket.
#[derive(Debug)]
pub struct Claim {
    socket: PathBuf,
    lock_path: PathBuf,
    passing: usize,
    _lock: File,
}

impl Claim {
    /// Where the socket is to be bound; nothing lies there.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While the lock is still held: nobody else's files can lie there.
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_file(&self.lock_path);
        // The last one takes the folders along; they stay as long as anything is in them.
        let folders = self.socket.ancestors().skip(1).take(self.passing);
        let _ = folders.map(fs::remove_dir).find(Result::is_err);
    }
}

impl Sockets {
    /// The folder for `cluster` in this user's runtime folder.
    ///
    /// # Errors
    /// If the name cannot be a file's name.
    pub fn of(cluster: &str) -> Result<Self, SocketError> {
        let runtime =
            std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let own = || std::env::temp_dir().join(format!("dae-{}", rustix::process::getuid().as_raw()));
        match runtime {
            Some(runtime) => Self::under(&runtime, cluster),
            None => Ok(Self { passing: 3, ..Self::under(&own(), cluster)? }),
        }
    }

    /// The folder for `cluster` in the folder `runtime`, which must be this user's alone.
    ///
    /// # Errors
    /// As [`Sockets::of`].
    pub fn under(runtime: &Path, cluster: &str) -> Result<Self, SocketError> {
        check_name("cluster", cluster)?;
        Ok(Self { folder: runtime.join("dae").join(cluster), passing: 2 })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The socket of the daemon `node`.
    pub fn socket(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.sock"))
    }

    /// The names of the daemons that have a socket here, in order; some may be dead.
    pub fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let name = |entry: fs::DirEntry| {
            let socket = entry.file_type().ok().is_some_and(|kind| kind.is_socket());
            let name = entry.file_name().to_str()?.strip_suffix(".sock")?.to_owned();
            socket.then_some(name)
        };
        let mut names: Vec<_> = entries.flatten().filter_map(name).take(MOST_DAEMONS).collect();
        names.sort();
        names
    }

    /// Makes the folder, for this user alone, and says where it lies.
    ///
    /// # Errors
    /// If it cannot be made, or others can enter it.
    pub fn make(&self) -> Result<&Path, SocketError> {
        let io = |error| SocketError::Io { path: self.folder.clone(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(io)?;
        self.check()?;
        Ok(&self.folder)
    }

    /// Looks whether the folder is this user's alone.
    ///
    /// # Errors
    /// If it is not there, or others can enter it.
    pub fn check(&self) -> Result<(), SocketError> {
        self.folders().try_for_each(|(folder, others)| private(folder, others))
    }

    /// Looks whether the folder is this user's alone, or could be made so; makes nothing.
    ///
    /// # Errors
    /// If others can enter it, or nothing can be made there.
    pub fn look(&self) -> Result<(), SocketError> {
        let missing = |folder: &Path| {
            fs::symlink_metadata(folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let mut there = self.folders().filter(|(folder, _)| !missing(folder));
        there.try_for_each(|(folder, others)| private(folder, others))?;
        let lowest = self.folder.ancestors().find(|folder| !missing(folder)).unwrap_or(&self.folder);
        access(lowest, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| SocketError::Io { path: lowest.to_owned(), error: error.into() })
    }

    /// The folders that matter, with what others may not do there: enter the lower two, or put others in their place.
    fn folders(&self) -> impl Iterator<Item = (&Path, u32)> {
        self.folder.ancestors().zip([0o077, 0o077, 0o022])
    }

    /// Takes the name `node`: a lock, which goes with the process however it ends, and the place of a socket that a
    /// dead daemon left.
    ///
    /// # Errors
    /// If a living daemon has the name, or the system refuses.
    pub fn claim(&self, node: &str) -> Result<Claim, SocketError> {
        check_name("node", node)?;
        let socket = self.socket(node);
        if socket.as_os_str().len() > LONGEST_PATH {
            return Err(SocketError::Long { path: socket });
        }
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match self.try_claim(node, &socket) {
                // The last daemon has left, and taken the folder along just now.
                // A folder that goes while it is made is told as one that is there and is none.
                Err(SocketError::Io { error, .. })
                    if tries > 0
                        && matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {
                }
                claimed => return claimed,
            }
        }
    }

    fn try_claim(&self, node: &str, socket: &Path) -> Result<Claim, SocketError> {
        self.make()?;
        let lock_path = self.folder.join(format!("{node}.pid"));
        let lock = lock(&lock_path, node)?;
        let claim = Claim { _lock: lock, socket: socket.to_owned(), lock_path, passing: self.passing };
        match fs::remove_file(&claim.socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(SocketError::Io { path: claim.socket.clone(), error })
            }
            _ => Ok(claim),
        }
    }
}

/// Whether the folder is this user's, and others cannot do there what these bits let them do.
fn private(folder: &Path, others: u32) -> Result<(), SocketError> {
    let is =
        fs::symlink_metadata(folder).map_err(|error| SocketError::Io { path: folder.to_owned(), error })?;
    let why = if !is.is_dir() {
        "is no folder".to_owned()
    } else if is.uid() != rustix::process::getuid().as_raw() {
        format!("belongs to the user with number {}", is.uid())
    } else if is.mode() & others != 0 {
        format!("others can enter it, or write to it (mode {:03o})", is.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(SocketError::NotPrivate { folder: folder.to_owned(), why })
}

/// The locked file with this process' number in it.
fn lock(path: &Path, node: &str) -> Result<File, SocketError> {
    let io = |error| SocketError::Io { path: path.to_owned(), error };
    loop {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // Whoever holds it may not have written yet.
                let _ = (&mut file).take(16).read_to_string(&mut pid);
                let pid = if pid.trim().is_empty() {
                    "starting just now".to_owned()
                } else {
                    pid.trim().to_owned()
                };
                return Err(SocketError::Taken { name: node.to_owned(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        // Between opening and locking, its owner may have left and removed it: then the lock is of no file.
        let mine = file.metadata().map_err(io)?;
        if fs::metadata(path).is_ok_and(|there| there.ino() == mine.ino() && there.dev() == mine.dev()) {
            file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(io)?;
            return Ok(file);
        }
    }
}

/// A name that can be part of a path, a table and a sentence.
///
/// # Errors
/// If it cannot.
pub fn check_name(what: &'static str, name: &str) -> Result<(), SocketError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let fine = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.');
    fine.then_some(())
        .ok_or_else(|| SocketError::Name { what, name: name.chars().take(LONGEST_NAME).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_name_is_taken_once_and_free_again_afterwards() {
        let root = tempfile::tempdir().expect("a folder");
        let sockets = Sockets::under(root.path(), "c").expect("a name");
        let first = sockets.claim("n1").expect("free");
        let refusal = sockets.claim("n1").expect_err("taken").to_string();
        assert!(refusal.contains(&std::process::id().to_string()) && refusal.contains("--name"), "{refusal}");
        let second = sockets.claim("n2").expect("another name");
        let listen = |claim: &Claim| std::os::unix::net::UnixListener::bind(claim.socket()).expect("bound");
        drop((listen(&first), listen(&second)));
        assert_eq!(sockets.names(), ["n1", "n2"]);
        drop((first, second));
        assert_eq!(fs::read_dir(root.path()).expect("is there").count(), 0, "something is left");
        drop(sockets.claim("n1").expect("free again"));
    }

    #[test]
    fn a_folder_that_goes_with_its_last_daemon_is_made_again_by_the_next() {
        let root = tempfile::tempdir().expect("a folder");
        let sockets =
            Sockets { passing: 3, ..Sockets::under(&root.path().join("own"), "c").expect("a name") };
        std::thread::scope(|scope| {
            for name in ["n1", "n2", "n3"] {
                let sockets = &sockets;
                scope.spawn(move || (0..300).for_each(|_| drop(sockets.claim(name).expect("free"))));
            }
        });
        assert_eq!(fs::read_dir(root.path()).expect("is there").count(), 0, "something is left");
    }

    #[test]
    fn looking_makes_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        let sockets = Sockets::under(&root.path().join("own"), "c").expect("a name");
        sockets.look().expect("could be made");
        assert_eq!(fs::read_dir(root.path()).expect("is there").count(), 0, "something was made");
        sockets.make().expect("private");
        sockets.look().expect("private");
        let open = fs::Permissions::from_mode(0o750);
        fs::set_permissions(root.path().join("own/dae"), open).expect("set");
        assert!(matches!(sockets.look(), Err(SocketError::NotPrivate { .. })));
        fs::write(root.path().join("file"), "").expect("written");
        let nowhere = Sockets::under(&root.path().join("file"), "c").expect("a name");
        nowhere.look().expect_err("a file is no folder");
    }

    #[test]
    fn a_dead_daemons_socket_is_replaced() {
        let root = tempfile::tempdir().expect("a folder");
        let sockets = Sockets::under(root.path(), "c").expect("a name");
        sockets.make().expect("made");
        drop(std::os::unix::net::UnixListener::bind(sockets.socket("n1")).expect("bound"));
        fs::write(sockets.folder().join("n1.pid"), "1\n").expect("written");
        let claim = sockets.claim("n1").expect("its owner is dead");
        assert!(!claim.socket().exists());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let sockets = Sockets::under(root.path(), "c").expect("a name");
        sockets.make().expect("private");
        for (folder, mode) in [("dae/c", 0o750), ("dae", 0o701), ("", 0o777)] {
            let folder = root.path().join(folder);
            let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("set");
            set(mode);
            let error = sockets.check().expect_err("open").to_string();
            assert!(
                error.contains(&format!("mode {mode:o}")) && error.contains("XDG_RUNTIME_DIR"),
                "{error}"
            );
            set(0o700);
        }
    }

    #[test]
    fn a_path_that_is_too_long_says_so() {
        let root = tempfile::tempdir().expect("a folder");
        let sockets = Sockets::under(&root.path().join("d".repeat(100)), "c").expect("a name");
        let error = sockets.claim("n1").expect_err("too long").to_string();
        assert!(error.contains("107 bytes"), "{error}");
    }

    #[test]
    fn names_stay_within_their_folder() {
        for bad in ["", "..", ".x", "a/b", "a b", "ä", &"x".repeat(65)] {
            assert!(check_name("node", bad).is_err(), "{bad}");
            assert!(Sockets::under(Path::new("x"), bad).is_err(), "{bad}");
        }
        assert!(check_name("node", "gpu-03.lab_2").is_ok());
    }
}
