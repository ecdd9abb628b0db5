//! The names of the language, and the nearest one to a misspelling.

/// The items.
pub(crate) const ITEMS: &[&str] =
    &["accum", "split", "pipe", "tensor", "step", "every", "join", "gossip", "phase"];

/// The optimizers.
pub(crate) const OPTIMIZERS: &[&str] = &["adam", "adamw", "sgd"];

/// What may stand in the brackets of one optimizer or another.
pub(crate) const OPTIMIZER_SETTINGS: &[&str] = &["lr", "momentum", "nesterov", "beta1", "beta2", "eps", "wd"];

/// What stands on an item besides its count and its place.
pub(crate) fn attributes(item: &str) -> &'static [&'static str] {
    match item {
        "split" => &["algo", "wire", "order", "bucket", "overlap"],
        "pipe" => &["micro", "sched"],
        "step" => &["zero", "clip"],
        "join" => {
            &["sync", "outer", "scale", "stale", "wire", "shards", "frag", "delay", "mix", "view", "weight"]
        }
        "gossip" => &["graph", "push", "sync"],
        _ => &[],
    }
}

/// The attribute of the item that has this value, for whoever writes the value alone.
pub(crate) fn attribute_of(item: &str, value: &str) -> Option<&'static str> {
    let attribute = match (item, value) {
        ("join", "bsp" | "ssp" | "async" | "quorum") | ("gossip", "bsp" | "async") => "sync",
        ("join", "avg" | "nesterov" | "slowmo" | "elastic" | "adam" | "adamw" | "sgd") => "outer",
        ("join", "mean" | "sum") => "scale",
        ("join", "dc" | "lr") => "stale",
        ("join" | "split", "bf16" | "f16" | "f32" | "int8" | "int4" | "topk" | "powersgd") => "wire",
        ("split", "ring" | "halving" | "doubling" | "direct") => "algo",
        ("split", "exact") => "order",
        ("pipe", "gpipe") => "sched",
        ("gossip", "ring" | "exp" | "complete" | "hops") => "graph",
        _ => return None,
    };
    Some(attribute)
}

/// The items that take the attribute.
pub(crate) fn owners(attribute: &str) -> Vec<&'static str> {
    ITEMS.iter().copied().filter(|item| attributes(item).contains(&attribute)).collect()
}

/// Whether it names an item.
pub(crate) fn is_item(name: &str) -> bool {
    ITEMS.contains(&name)
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
        let near = |written: &str| nearest(written, ITEMS.iter().copied());
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
