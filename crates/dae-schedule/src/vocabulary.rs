//! The words of the language: what runs, what is known but not yet available, and the nearest to a misspelling.

/// The items that run today.
pub(crate) const ITEMS: &[&str] = &["accum", "split", "step"];

/// The items of the algebra that do not run yet, each with what it will do.
const ITEMS_NOT_YET: &[(&str, &str)] = &[
    ("pipe", "cuts the layers into stages"),
    ("tensor", "cuts wide layers"),
    ("every", "makes a round of several inner rounds"),
    ("join", "joins model replicas around a centre"),
    ("gossip", "mixes model replicas without a centre"),
    ("phase", "changes the schedule on a condition"),
];

/// The optimizers that run today.
pub(crate) const OPTIMIZERS: &[&str] = &["adam", "adamw", "sgd"];

/// What may stand in the brackets of one optimizer or another.
pub(crate) const OPTIMIZER_SETTINGS: &[&str] = &["lr", "momentum", "nesterov", "beta1", "beta2", "eps", "wd"];

/// The places that a `split` may name today.
pub(crate) const PLACES: &[&str] = &["device", "node", "cluster"];

/// The places of the algebra that nothing can lie at yet.
pub(crate) const PLACES_NOT_YET: &[&str] = &["rack"];

/// What one item takes besides its count.
pub(crate) struct Attributes {
    pub(crate) known: &'static [&'static str],
    pub(crate) not_yet: &'static [&'static str],
}

/// The attributes of an item that runs today.
pub(crate) fn attributes(item: &str) -> Attributes {
    match item {
        "split" => Attributes { known: &["order"], not_yet: &["algo", "wire", "bucket", "overlap"] },
        "step" => Attributes { known: &["clip"], not_yet: &["zero"] },
        _ => Attributes { known: &[], not_yet: &[] },
    }
}

/// The item that runs today and takes the attribute, if one does.
pub(crate) fn owner(attribute: &str) -> Option<&'static str> {
    ITEMS.iter().copied().find(|item| {
        let Attributes { known, not_yet } = attributes(item);
        known.contains(&attribute) || not_yet.contains(&attribute)
    })
}

/// What an item that is not yet available will do.
pub(crate) fn purpose(item: &str) -> Option<&'static str> {
    ITEMS_NOT_YET.iter().find(|(name, _)| *name == item).map(|(_, purpose)| *purpose)
}

/// Whether it names an item of the algebra, available or not.
pub(crate) fn is_item(name: &str) -> bool {
    ITEMS.contains(&name) || purpose(name).is_some()
}

/// All items of the algebra, to suggest from.
pub(crate) fn all_items() -> impl Iterator<Item = &'static str> {
    ITEMS.iter().copied().chain(ITEMS_NOT_YET.iter().map(|(name, _)| *name))
}

/// The name most like `written`: the same but for case, or at most a third of its letters away.
pub(crate) fn nearest(written: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    const LONGEST_BYTES: usize = 32; // nothing longer is near any name, and comparing costs its length
    if written.len() > LONGEST_BYTES {
        return None;
    }
    let lower = written.to_lowercase();
    let near = |name: &str| (strsim::osa_distance(&lower, name), strsim::osa_distance(written, name));
    let allowed = (lower.chars().count() / 3).max(1);
    names.map(|name| (near(name), name)).filter(|((far, _), _)| *far <= allowed).min().map(|(_, name)| name)
}

/// A help sentence: the nearest name if there is one, else all of them.
pub(crate) fn suggestion(written: &str, kind: &str, names: &[&'static str]) -> String {
    match nearest(written, names.iter().copied()) {
        Some(name) if name == written.to_lowercase() => {
            format!("did you mean `{name}`? Upper and lower case differ")
        }
        Some(name) => format!("did you mean `{name}`?"),
        None if names.is_empty() => format!("leave it out: there are no {kind} here"),
        None => format!("the {kind} are {}", listed(names)),
    }
}

/// Names as prose: `` `a`, `b`, `c` ``.
pub(crate) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_is_near() {
        let near = |written: &str| nearest(written, all_items());
        assert_eq!(near("acum"), Some("accum"));
        assert_eq!(near("SPLIT"), Some("split"));
        assert_eq!(near("stpe"), Some("step"));
        assert_eq!(near("jion"), Some("join"));
        assert_eq!(near("banana"), None);
        assert_eq!(near(&"x".repeat(4000)), None);
        assert_eq!(nearest("AdamW", OPTIMIZERS.iter().copied()), Some("adamw"));
        assert_eq!(nearest("adm", OPTIMIZERS.iter().copied()), Some("adam"));
    }
}
