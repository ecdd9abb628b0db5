//! Reads `step`: what closes the gradient, and what stands on it.

use crate::problem::{Problem, SYNTAX, TWICE};
use crate::read::attribute::Attribute;
use crate::read::number::Bound;
use crate::read::optimizer::optimizer;
use crate::read::tail::{Given, given_twice, stray};
use crate::read::token::shown;
use crate::read::vocabulary::{OPTIMIZERS, attributes, listed};
use crate::step::{Closing, Step};

/// Reads a `step`; nothing if any of it is wrong.
pub(crate) fn step(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Step> {
    let before = problems.len();
    given.no_count(problems);
    given.no_place(problems);
    let zero = given.whole("zero", (0, 3), 0, problems);
    let clip = given.number("clip", Bound::Positive, 1.0, problems);
    let closing = closing(given, problems);
    if problems.len() > before {
        return None;
    }
    Some(Step { closing: closing?, zero: u8::try_from(zero?).ok()?, clip })
}

/// Reads the optimizer, or `raw`, and reports all that is neither this nor an attribute of `step`.
fn closing(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Closing> {
    let (mut closing, mut named) = (None, false);
    let mut seen = std::collections::HashSet::new();
    for attribute in &given.tail.attributes {
        let name = attribute.name.text;
        let known = attributes("step").contains(&name);
        if name == "raw" || OPTIMIZERS.contains(&name) {
            if named {
                problems.push(Problem::new(
                    TWICE,
                    attribute.at.clone(),
                    format!("`step` has one optimizer, and `{name}` is another"),
                    "keep one of them",
                ));
            } else {
                closing = read_closing(attribute, problems);
            }
            named = true;
        } else if !known {
            // An unknown name without a value is a misspelt optimizer: do not ask for one as well.
            named |= attribute.value.is_none();
            problems.push(stray("step", attribute));
        } else if !seen.insert(name) {
            problems.push(given_twice(attribute));
        }
    }
    if !named {
        problems.push(Problem::new(
            SYNTAX,
            given.at.clone(),
            "`step` closes the gradient with an optimizer, and none is named",
            format!(
                "name one, for example `step adam(1e-3)`; the optimizers are {}, and `raw` leaves it to a `join`",
                listed(OPTIMIZERS)
            ),
        ));
    }
    closing
}

fn read_closing(attribute: &Attribute<'_>, problems: &mut Vec<Problem>) -> Option<Closing> {
    let name = attribute.name.text;
    let problem = match (&attribute.value, name) {
        (None, "raw") if attribute.is_bare() => return Some(Closing::Raw),
        (None, "raw") => ("`raw` has no settings".to_owned(), "write `step raw`".to_owned()),
        (None, _) => return optimizer(&attribute.call(), problems).map(Closing::Optimizer),
        (Some(value), _) => (
            format!("the settings of `{name}` stand in brackets"),
            format!("write `{name}({})`", shown(value.head.text)),
        ),
    };
    problems.push(Problem::new(SYNTAX, attribute.at.clone(), problem.0, problem.1));
    None
}
