//! A peer that knows the tags of the cluster and not its key says anything: nobody is let in, nothing panics.
//!
//! The first byte says which side is under test and whether the preamble is taken from it (so that what follows is
//! looked at) or from the data.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use dae_net::{Cluster, ClusterKey, Endpoint, Hello, Identity, Purpose};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

const DEADLINE: Duration = Duration::from_millis(200);

static NODE: LazyLock<Endpoint> = LazyLock::new(|| {
    let key = ClusterKey::generate().unwrap();
    Endpoint::new(Arc::new(Identity::generate().unwrap()), Cluster::keyed("fuzz", &key))
});

fuzz_target!(|data: &[u8]| {
    let Some((mode, script)) = data.split_first() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let hello = Hello::new("node", 1, Purpose::Node);
        let (mut peer, node) = duplex(1 << 16);
        let hostile = async move {
            if mode & 1 == 0 {
                let mut preamble = [0; 40];
                peer.read_exact(&mut preamble).await.unwrap();
                peer.write_all(&preamble).await.ok();
            }
            peer.write_all(script).await.ok();
            peer.shutdown().await.ok();
            // Reads until the other side has had enough.
            tokio::io::copy(&mut peer, &mut tokio::io::sink()).await.ok();
        };
        let refused = if mode & 2 == 0 {
            let accepting = NODE.accept(node, |_| Ok(hello), DEADLINE);
            tokio::join!(accepting, hostile).0.is_err()
        } else {
            let dialling = NODE.dial_over(node, None, hello, DEADLINE);
            tokio::join!(dialling, hostile).0.is_err()
        };
        assert!(refused, "nobody gets in without the key");
    });
});
