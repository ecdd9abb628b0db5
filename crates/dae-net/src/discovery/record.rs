//! [`Record`]: what a node's DNS-SD record says, and what is believed of another's.

use std::net::{IpAddr, SocketAddr};

use super::{Announcement, Candidate};

/// Addresses that are taken from one record: it may come from anybody.
const MOST_ADDRESSES: usize = 8;
/// A DNS label.
const LABEL_BYTES: usize = 63;

/// A node's record: its instance name and the entries of its TXT record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The node's name and eight digits of its identity.
    pub instance: String,
    /// `v`: the versions; `tag`: the cluster; `a`: the addresses, because those that the DNS gives for a host may be
    /// more than where the node listens, or fewer.
    pub txt: Vec<(&'static str, String)>,
}

impl Record {
    pub fn of(me: &Announcement) -> Self {
        let addresses: Vec<String> =
            me.addresses.iter().take(MOST_ADDRESSES).map(ToString::to_string).collect();
        let (lowest, highest) = me.versions;
        let txt = vec![
            ("v", format!("{lowest}-{highest}")),
            ("tag", crate::hex::of(&me.tag)),
            ("a", addresses.join(",")),
        ];
        Self { instance: instance(&me.name, &me.id.to_string()), txt }
    }

    /// The node behind another's record, if it is one of this cluster and not the node itself. `addresses` are those
    /// the DNS gives, for a record that names none.
    pub fn candidate(
        &self,
        source: &'static str,
        instance: &str,
        txt: impl Fn(&str) -> Option<String>,
        port: u16,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Option<Candidate> {
        let mine = self.txt.iter().find(|(key, _)| *key == "tag").map(|(_, tag)| tag);
        if instance == self.instance || txt("tag").as_ref() != mine || port == 0 {
            return None;
        }
        let mut named: Vec<IpAddr> =
            txt("a").unwrap_or_default().split(',').filter_map(|each| each.parse().ok()).collect();
        if named.is_empty() {
            named = addresses.into_iter().take(MOST_ADDRESSES).collect();
            named.sort_by_key(IpAddr::is_ipv6);
        }
        named.truncate(MOST_ADDRESSES);
        let label: String = instance.chars().filter(|each| !each.is_control()).take(LABEL_BYTES).collect();
        let addresses = named.into_iter().map(|each| SocketAddr::new(each, port)).collect();
        Some(Candidate { source, addresses, label }).filter(|found| !found.addresses.is_empty())
    }
}

/// The node's name as far as a label holds it; dots and the like would have to be escaped, each library in its way.
fn instance(name: &str, id: &str) -> String {
    let plain = |each: char| if each.is_alphanumeric() || each == '_' { each } else { '-' };
    let mut instance: String = name.chars().map(plain).collect();
    let room = LABEL_BYTES.saturating_sub(id.len() + 1);
    while instance.len() > room {
        instance.pop();
    }
    format!("{instance}-{id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;

    fn me() -> Announcement {
        Announcement {
            name: "my node.lan".to_owned(),
            id: NodeId([0xab; 32]),
            tag: [7; 16],
            port: 7946,
            addresses: vec!["10.0.0.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
            versions: (1, 2),
        }
    }

    fn seen_by(other: &Record, me: &Announcement) -> Option<Candidate> {
        let record = Record::of(me);
        let txt =
            |key: &str| record.txt.iter().find(|(each, _)| *each == key).map(|(_, value)| value.clone());
        other.candidate("mdns", &record.instance, txt, me.port, ["10.9.9.9".parse().unwrap()])
    }

    #[test]
    fn a_record_leads_back_to_the_addresses() {
        let record = Record::of(&me());
        assert_eq!(record.instance, "my-node-lan-abababab");
        assert_eq!(record.txt[0], ("v", "1-2".to_owned()));
        assert_eq!(record.txt[1], ("tag", "07".repeat(16)));
        let other = Record::of(&Announcement { id: NodeId([1; 32]), ..me() });
        let found = seen_by(&other, &me()).unwrap();
        let addresses: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.1:7946", "[2001:db8::1]:7946"]);
        assert_eq!((found.source, found.label.as_str()), ("mdns", "my-node-lan-abababab"));
        // A record without addresses of its own: those of the DNS.
        let found = seen_by(&other, &Announcement { addresses: Vec::new(), ..me() }).unwrap();
        assert_eq!(found.addresses, ["10.9.9.9:7946".parse().unwrap()]);
    }

    #[test]
    fn itself_and_other_clusters_are_left_out() {
        let record = Record::of(&me());
        assert_eq!(seen_by(&record, &me()), None);
        let other = Announcement { id: NodeId([1; 32]), ..me() };
        assert!(seen_by(&record, &other).is_some());
        assert_eq!(seen_by(&record, &Announcement { tag: [8; 16], ..other.clone() }), None);
        assert_eq!(seen_by(&record, &Announcement { port: 0, ..other }), None);
        assert_eq!(record.candidate("mdns", "printer", |_| None, 80, []), None);
    }

    #[test]
    fn a_hostile_record_is_bounded() {
        let record = Record::of(&me());
        let many = vec!["10.0.0.1"; 1000].join(",");
        let txt = |key: &str| Some(if key == "tag" { "07".repeat(16) } else { many.clone() });
        let found = record.candidate("mdns", &"\u{7}x".repeat(1000), txt, 1, []).unwrap();
        assert_eq!((found.addresses.len(), found.label.len()), (MOST_ADDRESSES, LABEL_BYTES));
    }

    #[test]
    fn an_instance_fits_a_label_whatever_the_name() {
        for name in ["", "a", &"ü".repeat(100), &"x".repeat(100), "a.b\\c\0d"] {
            let instance = instance(name, "01234567");
            assert!(instance.len() <= LABEL_BYTES && instance.ends_with("-01234567"), "{instance:?}");
            assert!(!instance.contains(['.', '\\', '\0']), "{instance:?}");
        }
    }
}
