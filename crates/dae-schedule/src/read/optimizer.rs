//! Reads an optimizer and what stands in its brackets.

use crate::optimizer::Optimizer;
use crate::problem::{BAD_VALUE, Problem};
use crate::read::attribute::Call;
use crate::read::number::Bound;
use crate::read::settings::Settings;

/// Reads `sgd(…)`, `adam(…)` or `adamw(…)`; the name is one of these.
pub(crate) fn optimizer(call: &Call<'_>, problems: &mut Vec<Problem>) -> Option<Optimizer> {
    match call.head.text {
        "sgd" => read_sgd(call, problems),
        name => read_adam(call, name == "adamw", problems),
    }
}

fn read_sgd(call: &Call<'_>, problems: &mut Vec<Problem>) -> Option<Optimizer> {
    let settings = Settings::sort(call, &["lr", "momentum", "wd"], &["nesterov"], problems);
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

fn read_adam(call: &Call<'_>, decoupled: bool, problems: &mut Vec<Problem>) -> Option<Optimizer> {
    let settings = Settings::sort(call, &["lr", "beta1", "beta2", "eps", "wd"], &[], problems);
    let lr = settings.number("lr", Bound::Positive, Optimizer::ADAM_LR, problems);
    let beta1 = settings.number("beta1", Bound::Fraction, 0.9, problems);
    let beta2 = settings.number("beta2", Bound::Fraction, 0.999, problems);
    let eps = settings.number("eps", Bound::Positive, 1e-8, problems);
    let default_decay = if decoupled { 0.01 } else { 0.0 };
    let weight_decay = settings.number("wd", Bound::NotNegative, default_decay, problems);
    let (lr, beta1, beta2, eps, weight_decay) = (lr?, beta1?, beta2?, eps?, weight_decay?);
    Some(if decoupled {
        Optimizer::AdamW { lr, beta1, beta2, eps, weight_decay }
    } else {
        Optimizer::Adam { lr, beta1, beta2, eps, weight_decay }
    })
}
