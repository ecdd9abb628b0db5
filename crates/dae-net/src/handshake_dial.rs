//! The dialling side of the handshake.

use snow::HandshakeState;

use crate::cluster::Cluster;
use crate::handshake::{ANSWER_MOST_BYTES, Answer, FIRST_BYTES, Role, SECOND_BYTES, Verdict, begin, ciphers};
use crate::handshake::{peer_id, read_counted, sentence};
use crate::header::read_header;
use crate::hello::{Hello, PeerInfo};
use crate::identity::Identity;
use crate::limits::Limits;
use crate::link::Link;
use crate::link_error::LinkError;
use crate::node_id::NodeId;
use crate::socket::Socket;

/// A peer that has proved the key and its identity, and knows nothing of us yet but that we have the key.
pub(crate) struct Proved {
    socket: Socket,
    noise: Box<HandshakeState>,
    id: NodeId,
}

/// Goes as far as knowing who is there. `expect` is who it should be.
pub(crate) async fn prove(
    mut socket: Socket,
    identity: &Identity,
    cluster: &Cluster,
    expect: Option<NodeId>,
) -> Result<Proved, LinkError> {
    let mut noise = begin(&mut socket, Role::Dialler, identity, cluster).await?;
    let mut first = [0; FIRST_BYTES];
    noise.write_message(&[], &mut first)?;
    socket.write.write_all(&first).await?;

    let [verdict] = socket.read.exactly().await?;
    Verdict::heed(verdict)?;
    let second = socket.read.exactly::<SECOND_BYTES>().await?;
    if noise.read_message(&second, &mut [0; SECOND_BYTES]).is_err() {
        // The reason goes out, if it can; ours is what is told here.
        let _ = socket.write.write_all(&[Verdict::WrongKey.byte()]).await;
        return Err(LinkError::refused_by_us(
            "the peer did not prove the cluster's key; give both the same key file",
        ));
    }
    let id = peer_id(&noise)?;
    if let Some(expected) = expect.filter(|expected| *expected != id) {
        let _ = socket.write.write_all(&[Verdict::WrongNode.byte()]).await;
        return Err(LinkError::WrongNode { expected, found: id });
    }
    Ok(Proved { socket, noise, id })
}

impl Proved {
    /// Says who we are, and takes the peer's answer.
    pub(crate) async fn introduce(
        self,
        hello: &Hello,
        peer: Where,
        limits: Limits,
    ) -> Result<Link, LinkError> {
        let Self { mut socket, mut noise, id } = self;
        let hello = hello
            .write()
            .map_err(|why| LinkError::refused_by_us(format!("this side's own hello is wrong: {why}")))?;
        let mut third = vec![0; 48 + hello.len() + 16];
        let length = noise.write_message(&hello, &mut third)?;
        let counted =
            [&[Verdict::GoOn.byte()][..], &(length as u16).to_be_bytes(), &third[..length]].concat();
        socket.write.write_all(&counted).await?;

        let (seal, mut open) = ciphers(&mut noise, Role::Dialler)?;
        let mut answer = read_counted(&mut socket, ANSWER_MOST_BYTES).await?;
        let plain = open.open(&mut answer)?;
        let hello = match read_header(&answer[..plain]) {
            Ok(Answer::Welcome(hello)) => hello,
            Ok(Answer::Refused(why)) => return Err(LinkError::refused_by_peer(sentence(&why))),
            Err(error) => {
                return Err(LinkError::refused_by_us(format!("the peer's hello is wrong: {error}")));
            }
        };
        hello.check().map_err(|why| LinkError::refused_by_us(format!("the peer's hello is wrong: {why}")))?;
        Ok(Link::new(PeerInfo { id, hello, address: peer }, socket, seal, open, limits))
    }
}

/// Where a peer is, if it is on a network.
pub(crate) type Where = Option<std::net::SocketAddr>;
