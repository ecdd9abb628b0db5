//! One row of the table of keys: everything that is known about a key, said once.

/// What a key may hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// `true` or `false`.
    Bool,
    /// A whole number in a range, both ends included.
    Int { min: i64, max: i64 },
    /// A finite number in a range, both ends included; a whole number is taken as well.
    Float { min: f64, max: f64 },
    /// Any text but the empty one.
    Text,
    /// A name fit for a file: letters, digits, `-`, `_` and `.`, not starting with a dot.
    Name,
    /// One of these words and no other.
    OneOf(&'static [&'static str]),
    /// One of these words, or a name the user's program registers (so it is judged when the plan is made).
    Kind(&'static [&'static str]),
    /// The widths of the layers of an mlp.
    Layers,
    /// Different names of that form; none at all may do.
    Names,
    /// A table whose keys are the user's own.
    Table,
}

/// How few and how many layers an mlp may have, its input counted.
pub(super) const LAYERS: std::ops::RangeInclusive<usize> = 2..=64;

/// The most names in a list.
pub(super) const MOST_NAMES: usize = 1024;

/// How narrow and how wide one of them may be.
pub(super) const WIDTHS: std::ops::RangeInclusive<i64> = 1..=1_000_000;

/// One key of a topology.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    /// The section it lies in, such as `data.corruption`.
    pub section: &'static str,
    /// Its name in that section.
    pub name: &'static str,
    /// One line for a person, from the documentation of the field.
    pub doc: &'static str,
    /// What it may hold.
    pub rule: Rule,
    /// The key, and its value, without which this one means nothing.
    pub only_with: Option<(&'static str, &'static str)>,
    /// The key this one stands in for: at most one of the two may be given.
    pub instead_of: Option<&'static str>,
    /// Whether a run may be resumed with another value.
    pub free: bool,
}

impl Key {
    /// A key of this rule, still without its name.
    pub const fn new(rule: Rule) -> Self {
        let (section, name, doc) = ("", "", "");
        Self { section, name, doc, rule, only_with: None, instead_of: None, free: false }
    }

    /// A whole number from `min` to `max`.
    pub const fn int(min: i64, max: i64) -> Self {
        Self::new(Rule::Int { min, max })
    }

    /// A finite number from `min` to `max`.
    pub const fn float(min: f64, max: f64) -> Self {
        Self::new(Rule::Float { min, max })
    }

    /// The same key, free to differ when a run is resumed.
    pub const fn free(self) -> Self {
        Self { free: true, ..self }
    }

    /// The same key, meant only where the key `selector` has this value.
    pub const fn only_with(self, selector: &'static str, value: &'static str) -> Self {
        Self { only_with: Some((selector, value)), ..self }
    }

    /// The same key, standing in for `other`.
    pub const fn instead_of(self, other: &'static str) -> Self {
        Self { instead_of: Some(other), ..self }
    }

    /// The same key with its place and its documentation; called by the declaration of the sections.
    pub const fn named(self, section: &'static str, name: &'static str, doc: &'static str) -> Self {
        Self { section, name, doc, ..self }
    }

    /// The key as it is written on the command line, such as `data.corruption.level`.
    pub fn dotted(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }
}

/// One section of a topology, and its keys in the order of the reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    /// Its dotted path, as it stands between the brackets.
    pub path: &'static str,
    /// What it is about.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

impl Section {
    /// The key of this name, if the section has one.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
}
