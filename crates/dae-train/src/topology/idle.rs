//! Keys that were given and mean nothing beside the others: silence would let a user believe they act.

use super::consistency::Check;
use super::document::Topology;
use super::key::Key;
use super::kinds::Kinds;
use super::rule::clip;
use super::sections::SECTIONS;
use super::tree::lookup;

impl Check<'_> {
    /// Keys that were given and mean nothing beside the others.
    pub(super) fn idle_keys(&mut self, kinds: Option<&Kinds>) {
        let Ok(table) = toml::Table::try_from(self.topology) else {
            return;
        };
        for key in SECTIONS.iter().flat_map(|s| s.keys) {
            let dotted = key.dotted();
            let Some((selector, value)) = key.only_with else {
                continue;
            };
            if !self.marks.given(&dotted) || !self.sound(&[selector]) {
                continue;
            }
            let chosen = lookup(&table, selector)
                .and_then(|v| v.as_str())
                .unwrap_or_default();
            // A misspelt kind is a problem of its own, and which exist is known only with the user's at hand.
            let known = match selector {
                "model.kind" => kinds.is_some_and(|k| k.models().contains(chosen)),
                "data.kind" => kinds.is_some_and(|k| k.data().contains(chosen)),
                _ => true,
            };
            if chosen != value && known {
                self.idle(key, &dotted, (selector, value), chosen);
            }
        }
    }

    /// Options given to a kind that reads none.
    pub(super) fn idle_options(&mut self) {
        let Topology { model, data, .. } = self.topology;
        let stock = Kinds::stock();
        let sections = [
            ("model", &model.kind, &model.options, stock.models()),
            ("data", &data.kind, &data.options, stock.data()),
        ];
        for (section, kind, options, names) in sections {
            if !options.is_empty() && names.contains(kind) {
                let reason = format!("a {section} of kind \"{kind}\" takes no options");
                let fix =
                    format!("remove the table, or put its keys under [{section}] if they are dae's own");
                self.report("conflict", &format!("{section}.options"), reason, fix);
            }
        }
    }

    fn idle(&mut self, key: &Key, dotted: &str, (selector, value): (&str, &str), chosen: &str) {
        let reason = format!(
            "means something only where {selector} is \"{value}\", and it is \"{}\"",
            clip(chosen)
        );
        let stock = Kinds::stock();
        let registered = match selector {
            "model.kind" => !stock.models().contains(chosen),
            "data.kind" => !stock.data().contains(chosen),
            _ => false,
        };
        let fix = match (registered, selector.rsplit_once('.')) {
            (true, _) => format!(
                "put it under [{}.options] if your kind reads it, or remove it",
                key.section
            ),
            (false, Some((_, name))) => format!("remove `{}`, or write {name} = \"{value}\"", key.name),
            (false, None) => format!("remove `{}`", key.name),
        };
        self.report("conflict", dotted, reason, fix);
    }
}
