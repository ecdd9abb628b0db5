//! What must hold between keys: each value may be fit alone and the whole still make no sense.

use std::collections::BTreeSet;

use dae_schedule::{MItem, Word};

use dae_schedule::{Algo, Wire};

use super::document::Topology;
use super::kinds::Kinds;
use super::marks::Marks;
use super::nearest::nearest;
use super::plan::{exact, over_nodes};
use super::problem::{Place, Problem};
use super::rule::clip;

/// The most parameters an mlp may have: 16 GiB in f32, of which a run keeps several copies.
const MOST_PARAMETERS: u64 = 1 << 32;

/// The most shards of a join's centre.
const MOST_SHARDS: u32 = 256;

/// The most grains of a step whose sum is free of order: each has bits enough then.
const MOST_TERMS: u64 = 1 << 20;

/// The most samples one step may take from all workers together.
const LARGEST_STEP: u64 = 1 << 40;

/// Checks the topology as a whole and returns its schedule.
///
/// Without `kinds` (they are not known while a file is read) whatever depends on them waits. `refused` are the
/// problems found before: a key among them stands at its default and is not blamed a second time.
///
/// # Errors
/// Every problem found.
pub(super) fn check(
    topology: &Topology,
    marks: &Marks,
    kinds: Option<&Kinds>,
    refused: &[Problem],
) -> Result<Word, Vec<Problem>> {
    let mut check = Check { topology, marks, refused, problems: Vec::new() };
    check.length();
    check.data();
    check.corruption();
    check.loss();
    check.layers();
    check.learning_rate();
    let word = check.word();
    if let Some(kinds) = kinds {
        check.kinds(kinds);
    }
    check.idle_keys(kinds);
    check.idle_options();
    match word {
        Some(word) if check.problems.is_empty() => Ok(word),
        _ => Err(check.problems),
    }
}

/// A check under way.
pub(super) struct Check<'a> {
    pub(super) topology: &'a Topology,
    pub(super) marks: &'a Marks,
    refused: &'a [Problem],
    problems: Vec<Problem>,
}

impl Check<'_> {
    /// Whether none of the keys was refused before.
    pub(super) fn sound(&self, keys: &[&str]) -> bool {
        let refused = |key: &str| self.refused.iter().any(|p| p.key.split('[').next() == Some(key));
        !keys.iter().any(|key| refused(key))
    }

    pub(super) fn report(
        &mut self,
        code: &'static str,
        key: &str,
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.problems.push(self.marks.problem(code, key, reason, fix));
    }

    fn length(&mut self) {
        if self.marks.given("job.epochs") && self.marks.given("job.steps") {
            let reason = "the length of the run is given twice, by `steps` and by `epochs`";
            self.report("conflict", "job.epochs", reason, "remove one of the two");
        }
        let (steps, warmup) = (self.topology.job.steps, self.topology.schedule.warmup_steps);
        let keys = ["job.steps", "job.epochs", "schedule.warmup_steps"];
        if self.topology.job.epochs.is_none() && warmup >= steps && self.sound(&keys) {
            let reason = format!("the warm-up takes {warmup} steps and the whole run {steps}");
            self.report(
                "conflict",
                "schedule.warmup_steps",
                reason,
                "warm up over fewer steps than job.steps",
            );
        }
    }

    fn data(&mut self) {
        let data = &self.topology.data;
        if data.kind == "idx" && data.path.is_none() && self.sound(&["data.kind", "data.path"]) {
            let fix = "add path = \"FILE\" to [data], the file of the samples in idx format";
            self.report("missing", "data.path", "a dataset of kind \"idx\" needs its file", fix);
        }
    }

    fn corruption(&mut self) {
        let corruption = &self.topology.data.corruption;
        let probability = matches!(corruption.kind.as_str(), "masking" | "salt_and_pepper");
        let keys = ["data.corruption.kind", "data.corruption.level"];
        if probability && corruption.level > 1.0 && self.sound(&keys) {
            let reason =
                format!("for {} the level is a probability, found {}", corruption.kind, corruption.level);
            self.report("out-of-range", keys[1], reason, "write a level from 0 to 1, such as level = 0.3");
        }
    }

    fn loss(&mut self) {
        let model = &self.topology.model;
        if model.loss == "bce" && model.output != "sigmoid" && self.sound(&["model.loss", "model.output"]) {
            let reason = "binary cross-entropy needs outputs between 0 and 1, which only a sigmoid gives";
            let fix = "write output = \"sigmoid\", or loss = \"mse\"";
            let key = if self.marks.given("model.loss") { "model.loss" } else { "model.output" };
            self.report("conflict", key, reason, fix);
        }
        if model.emphasis_corrupted == 0.0 && model.emphasis_clean == 0.0 {
            let reason = "the loss is always 0 when both emphases are";
            self.report("conflict", "model.emphasis_clean", reason, "give one of the two a weight above 0");
        }
    }

    fn layers(&mut self) {
        let model = &self.topology.model;
        let [first, .., last] = model.layers.as_slice() else {
            return;
        };
        if model.kind != "mlp" || !self.sound(&["model.kind", "model.layers", "model.tied"]) {
            return;
        }
        if first != last {
            let reason =
                format!("an autoencoder gives back what it takes, but takes {first} values and gives {last}");
            let fix = format!("make the first and the last width equal: [{first}, ..., {first}]");
            self.report("conflict", "model.layers", reason, fix);
        } else if model.tied && !model.layers.iter().eq(model.layers.iter().rev()) {
            let reason = "with tied weights the decoder mirrors the encoder";
            let fix = "list widths that read the same from both ends, or write tied = false";
            self.report("conflict", "model.layers", reason, fix);
        } else if model.tied && model.layers.len().is_multiple_of(2) {
            let reason = "with tied weights there is a layer in the middle, but the number of widths is even";
            self.report(
                "conflict",
                "model.layers",
                reason,
                "list an odd number of widths, or write tied = false",
            );
        }
        let parameters = parameters(&model.layers, model.tied);
        if parameters.is_none_or(|n| n > MOST_PARAMETERS) {
            let reason = format!("the model would have more than {MOST_PARAMETERS} parameters (16 GiB)");
            self.report("out-of-range", "model.layers", reason, "use narrower layers");
        }
    }

    fn learning_rate(&mut self) {
        let schedule = &self.topology.schedule;
        if schedule.lr == "step" && schedule.decay_every.is_none() && self.sound(&["schedule.decay_every"]) {
            let reason = "a rate that falls in steps needs to know how often";
            self.report("missing", "schedule.decay_every", reason, "add decay_every = 1000 to [schedule]");
        }
    }

    /// The schedule, its own problems mapped into the string of the file.
    fn word(&mut self) -> Option<Word> {
        const KEY: &str = "schedule.word";
        let text = &self.topology.schedule.word;
        let (schedule, problems) = match dae_schedule::parse(text) {
            Ok(schedule) => (Some(schedule), dae_schedule::not_yet_run(text)),
            Err(problems) => (None, problems),
        };
        let place = self.marks.place(KEY);
        self.problems.extend(problems.into_iter().map(|p| Problem {
            code: p.code,
            key: KEY.into(),
            reason: p.message,
            fix: p.help,
            place: place.map(|place| within(place, text, p.at)),
        }));
        // A phase has been refused above: it is not yet run.
        let word = schedule?.into_word()?;
        let step = [word.workers(), word.accum(), self.topology.data.batch];
        let step = step.iter().try_fold(1u64, |n, part| n.checked_mul(u64::from(*part)));
        if step.is_none_or(|n| n > LARGEST_STEP) && self.sound(&["data.batch"]) {
            let reason =
                format!("workers x micro-batches x batch is more than {LARGEST_STEP} samples a step");
            self.report("out-of-range", "data.batch", reason, "use a smaller batch");
        }
        let shards =
            word.model().iter().map(|item| if let MItem::Join(join) = item { join.parts() } else { 1 });
        if shards.max().is_some_and(|shards| shards > MOST_SHARDS) {
            let reason = format!(
                "each shard or fragment of a centre is an actor on a thread of its own, at most {MOST_SHARDS}"
            );
            self.report("out-of-range", KEY, reason, "write a smaller `shards` or `frag`");
        }
        let (nodes, named) = (word.nodes(), self.topology.placement.nodes.len());
        if (1..nodes as usize).contains(&named) && self.sound(&["placement.nodes"]) {
            let reason = format!("names {named} nodes, and the schedule takes {nodes}");
            let fix = "name more, or none where any will do, or lower the count of `@cluster`";
            self.report("conflict", "placement.nodes", reason, fix);
        }
        if word.model().iter().any(|item| matches!(item, MItem::Join(_))) && self.topology.job.skips() {
            let reason = "the children of a `join` step apart from each other, so not all workers could skip a step alike";
            let fix = "write on_nonfinite = \"stop\", or take the `join` out";
            self.report("conflict", "job.on_nonfinite", reason, fix);
        }
        let terms = u64::from(word.workers()) * u64::from(word.accum());
        if exact(&word) && terms > MOST_TERMS {
            let reason = format!(
                "`order=exact` sums {MOST_TERMS} grains at most, and a step of this word has {terms}"
            );
            self.report("out-of-range", KEY, reason, "make grains larger and `accum` smaller");
        }
        if let Some(split) = over_nodes(&word)
            && split.wire.loses()
            && !matches!(split.wire, Wire::PowerSgd(_))
            && !matches!(split.algo, Algo::Auto | Algo::Direct)
        {
            let reason = "what is coded has to be read before it is added, so each part goes straight to the node that adds it";
            self.report("conflict", KEY, reason, "take out `algo`, or write `algo=direct`");
        }
        if exact(&word) && over_nodes(&word).is_some_and(|split| split.wire.loses()) {
            let reason = "`order=exact` is the same to the bit whoever computes what, and what a lossy `wire` loses is not";
            self.report("conflict", KEY, reason, "take out one of the two");
        }
        Some(word)
    }

    fn kinds(&mut self, kinds: &Kinds) {
        let Topology { model, data, actors, .. } = self.topology;
        self.kind("model.kind", "model", &model.kind, kinds.models());
        self.kind("data.kind", "data", &data.kind, kinds.data());
        for name in actors.keys() {
            self.kind(&format!("actors.{name}"), "actor", name, kinds.actors());
        }
    }

    fn kind(&mut self, key: &str, what: &str, name: &str, known: &BTreeSet<String>) {
        if known.contains(name) {
            return;
        }
        let names: Vec<_> = known.iter().map(String::as_str).collect();
        let fix = match nearest(name, names.iter().copied()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None if names.is_empty() => format!("your program must register it: .{what}(\"{name}\", ...)"),
            None => format!("this program knows {}; register others in your own", names.join(", ")),
        };
        self.report(
            "unknown-kind",
            key,
            format!("this program knows no {what} kind \"{}\"", clip(name)),
            fix,
        );
    }
}

/// The parameters of an mlp; nothing if they overflow.
fn parameters(layers: &[u32], tied: bool) -> Option<u64> {
    layers.windows(2).enumerate().try_fold(0u64, |sum, (i, pair)| {
        let shared = tied && i >= layers.len() / 2;
        let weights = if shared { 0 } else { u64::from(pair[0]).checked_mul(u64::from(pair[1]))? };
        sum.checked_add(weights)?.checked_add(u64::from(pair[1]))
    })
}

/// The stretch `at` of the text within the TOML string that holds it; the whole string where escapes move things.
fn within(place: &Place, text: &str, at: std::ops::Range<usize>) -> Place {
    let Some(offset) = place.text().find(text).filter(|_| !text.is_empty()) else {
        return place.clone();
    };
    let start = place.span.start + offset;
    let end = start + text.len();
    Place { source: place.source.clone(), span: (start + at.start).min(end)..(start + at.end).min(end) }
}
