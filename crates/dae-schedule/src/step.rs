//! Reads what follows `step`: the optimizer, and `clip`.

use std::ops::Range;

use crate::attribute::{Attribute, Tail};
use crate::item::{no_counts, no_places, once, stray};
use crate::number::{Bound, number};
use crate::optimizer::Optimizer;
use crate::problem::{BAD_VALUE, NOT_YET, Problem, SYNTAX, TWICE};
use crate::settings::Settings;
use crate::vocabulary::{OPTIMIZERS, attributes, listed};

/// What closes a gradient.
#[derive(Clone, Copy)]
pub(crate) struct Closing {
    pub(crate) optimizer: Optimizer,
    pub(crate) clip: Option<f32>,
}

/// Reads the tail of a `step` that stands at `op`; nothing if any of it is wrong.
pub(crate) fn step(op: Range<usize>, tail: &Tail<'_>, problems: &mut Vec<Problem>) -> Option<Closing> {
    let before = problems.len();
    no_counts("step", &tail.counts, problems);
    no_places("step", &tail.places, problems);
    once(&tail.attributes, problems);
    let (mut optimizer, mut clip, mut named) = (None, None, false);
    for attribute in &tail.attributes {
        match attribute.name.text {
            "clip" => clip = read_clip(attribute, problems),
            "raw" => {
                named = true;
                problems.push(Problem::new(
                    NOT_YET,
                    attribute.at(),
                    "`step raw` hands the gradient on to a `join`, and that is not yet available",
                    format!("name an optimizer: {}", listed(OPTIMIZERS)),
                ));
            }
            name if OPTIMIZERS.contains(&name) && named => problems.push(Problem::new(
                TWICE,
                attribute.at(),
                format!("`step` has one optimizer, and `{name}` is another"),
                "keep one of them",
            )),
            name if OPTIMIZERS.contains(&name) => {
                named = true;
                optimizer = read_optimizer(attribute, problems);
            }
            _ => {
                // An unknown name that no attribute could be is a misspelt optimizer: do not ask for one as well.
                named |=
                    attribute.value.is_none() && !attributes("step").not_yet.contains(&attribute.name.text);
                problems.push(stray("step", attribute));
            }
        }
    }
    if !named {
        problems.push(Problem::new(
            SYNTAX,
            op,
            "`step` closes the gradient with an optimizer, and none is named",
            format!(
                "name one, for example `step adam(1e-3)`; the optimizers are {}",
                listed(OPTIMIZERS)
            ),
        ));
    }
    if problems.len() > before {
        None
    } else {
        optimizer.map(|optimizer| Closing { optimizer, clip })
    }
}

fn read_clip(attribute: &Attribute<'_>, problems: &mut Vec<Problem>) -> Option<f32> {
    let Some(value) = &attribute.value else {
        problems.push(Problem::new(
            SYNTAX,
            attribute.at(),
            "`clip` bounds the global norm of the gradient, and the bound is missing",
            "write it with `=`, for example `clip=1.0`",
        ));
        return None;
    };
    number("clip", value, Bound::Positive, 1.0, problems)
}

fn read_optimizer(attribute: &Attribute<'_>, problems: &mut Vec<Problem>) -> Option<Optimizer> {
    if let Some(value) = &attribute.value {
        let name = attribute.name.text;
        problems.push(Problem::new(
            SYNTAX,
            attribute.at(),
            format!("the settings of `{name}` stand in brackets"),
            format!("write `{name}({})`", crate::token::shown(value.text)),
        ));
        return None;
    }
    match attribute.name.text {
        "sgd" => read_sgd(attribute, problems),
        name => read_adam(attribute, name == "adamw", problems),
    }
}

fn read_sgd(attribute: &Attribute<'_>, problems: &mut Vec<Problem>) -> Option<Optimizer> {
    let settings = Settings::sort(attribute, &["lr", "momentum", "wd"], &["nesterov"], problems);
    let lr = settings.number("lr", Bound::Positive, Optimizer::SGD_LR, problems);
    let momentum = settings.number("momentum", Bound::Fraction, 0.0, problems);
    let weight_decay = settings.number("wd", Bound::NotNegative, 0.0, problems);
    let nesterov = settings.flag("nesterov");
    if let (Some(flag), Some(0.0)) = (nesterov, momentum) {
        problems.push(Problem::new(
            BAD_VALUE,
            flag.at.clone(),
            "`nesterov` looks ahead along the momentum, and there is none",
            "add `momentum=0.9`, or take `nesterov` out",
        ));
    }
    Some(Optimizer::Sgd {
        lr: lr?,
        momentum: momentum?,
        nesterov: nesterov.is_some(),
        weight_decay: weight_decay?,
    })
}

fn read_adam(attribute: &Attribute<'_>, decoupled: bool, problems: &mut Vec<Problem>) -> Option<Optimizer> {
    let settings = Settings::sort(attribute, &["lr", "beta1", "beta2", "eps", "wd"], &[], problems);
    let lr = settings.number("lr", Bound::Positive, Optimizer::ADAM_LR, problems);
    let beta1 = settings.number("beta1", Bound::Fraction, 0.9, problems);
    let beta2 = settings.number("beta2", Bound::Fraction, 0.999, problems);
    let eps = settings.number("eps", Bound::Positive, 1e-8, problems);
    let default_decay = if decoupled { 0.01 } else { 0.0 };
    let weight_decay = settings.number("wd", Bound::NotNegative, default_decay, problems);
    let (lr, beta1, beta2, eps, weight_decay) = (lr?, beta1?, beta2?, eps?, weight_decay?);
    Some(if decoupled {
        Optimizer::AdamW {
            lr,
            beta1,
            beta2,
            eps,
            weight_decay,
        }
    } else {
        Optimizer::Adam {
            lr,
            beta1,
            beta2,
            eps,
            weight_decay,
        }
    })
}
