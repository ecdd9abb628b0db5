//! Who is in the cluster, and who is alive.
//!
//! | module | holds |
//! |---|---|
//! | `member` | [`Member`], [`MemberState`], [`MemberEvent`], [`MemberNews`]: what others see |
//! | `pulse` | `Pulse`: how suspicious a silence is |
//! | `roster` | [`Roster`]: what is known of every node; pure: news and time in, events out |
//! | `datagram` | `Sealer`: datagrams only the holders of the cluster's key can make or read |
//! | `pieces` | messages that one datagram does not hold |
//! | `transport` | gossip over sealed datagrams |
//! | `gossip` | [`Membership`]: the roster, fed by gossip and by the connections |

mod datagram;
mod gossip;
mod member;
mod pieces;
mod pulse;
mod roster;
mod transport;

pub use gossip::{Membership, MembershipError, Myself};
pub use member::{Member, MemberEvent, MemberNews, MemberState};
pub use roster::{Roster, Sighting};
