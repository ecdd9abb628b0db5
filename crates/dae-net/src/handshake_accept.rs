//! The accepting side of the handshake.

use snow::HandshakeState;

use crate::cluster::Cluster;
use crate::handshake::{Answer, FIRST_BYTES, Role, SECOND_BYTES, THIRD_MOST_BYTES, Verdict, begin, ciphers};
use crate::handshake::{peer_id, read_counted, sentence};
use crate::header::header_of;
use crate::hello::{Hello, PeerInfo};
use crate::identity::Identity;
use crate::limits::Limits;
use crate::link::Link;
use crate::link_error::LinkError;
use crate::socket::Socket;

/// A dialler that has proved the key. Who it is comes next.
pub(crate) struct Keyed {
    socket: Socket,
    noise: Box<HandshakeState>,
}

/// Goes as far as a proof of the key. Until then nothing is parsed and nothing allocated for the peer's bytes.
pub(crate) async fn prove(
    mut socket: Socket,
    identity: &Identity,
    cluster: &Cluster,
) -> Result<Keyed, LinkError> {
    let mut noise = begin(&mut socket, Role::Acceptor, identity, cluster).await?;
    let first = socket.read.exactly::<FIRST_BYTES>().await?;
    if noise.read_message(&first, &mut [0; FIRST_BYTES]).is_err() {
        // The reason goes out, if it can; ours is what is told here.
        let _ = socket.write.write_all(&[Verdict::WrongKey.byte()]).await;
        return Err(LinkError::refused_by_us(
            "the peer did not prove the cluster's key; give both the same key file",
        ));
    }
    Ok(Keyed { socket, noise })
}

impl Keyed {
    /// Proves who we are, learns who the peer is, and answers as `admit` says.
    pub(crate) async fn meet(
        self,
        address: Option<std::net::SocketAddr>,
        admit: impl FnOnce(&PeerInfo) -> Result<Hello, String>,
        limits: Limits,
    ) -> Result<Link, LinkError> {
        let Self { mut socket, mut noise } = self;
        let mut second = [0; 1 + SECOND_BYTES];
        second[0] = Verdict::GoOn.byte();
        noise.write_message(&[], &mut second[1..])?;
        socket.write.write_all(&second).await?;

        let [verdict] = socket.read.exactly().await?;
        Verdict::heed(verdict)?;
        let third = read_counted(&mut socket, THIRD_MOST_BYTES).await?;
        let mut hello = vec![0; third.len()];
        let plain =
            noise.read_message(&third, &mut hello).map_err(|_| LinkError::Forged { bytes: third.len() })?;
        let id = peer_id(&noise)?;
        let (mut seal, open) = ciphers(&mut noise, Role::Acceptor)?;

        let judged = Hello::read(&hello[..plain])
            .map_err(|why| format!("the dialler's hello is wrong: {why}"))
            .map(|hello| PeerInfo { id, hello, address })
            .and_then(|peer| Ok((admit(&peer)?, peer)))
            .and_then(|(ours, peer)| {
                ours.write()
                    .map_err(|why| format!("the hello of the side that was dialled is wrong: {why}"))?;
                Ok((ours, peer))
            });
        let answer = match &judged {
            Ok((ours, _)) => Answer::Welcome(ours.clone()),
            Err(why) => Answer::Refused(sentence(why)),
        };
        let answer = header_of(&answer).map_err(|error| LinkError::Crypto { why: error.to_string() })?;
        let mut record = Vec::new();
        seal.seal(&answer, &mut record)?;
        socket.write.write_all(&record).await?;
        match judged {
            Ok((_, peer)) => Ok(Link::new(peer, socket, seal, open, limits)),
            Err(why) => {
                socket.write.shutdown().await;
                Err(LinkError::refused_by_us(why))
            }
        }
    }
}
