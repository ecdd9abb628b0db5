//! E07 and E13: the word against the shape of the model.

use super::Line;
use super::facts::Facts;
use crate::gradient::GItem;
use crate::model::MItem;
use crate::problem::{LOW_RANK, Problem, STAGES};
use crate::read::ItemKind;
use crate::wire::Wire;

/// E07: two thin matrices must be smaller than the one they stand for.
pub(super) fn low_rank(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    let Some(matrices) = &facts.matrices else { return };
    for item in line.items {
        let wire = match &item.kind {
            ItemKind::Gradient(Some(GItem::Split(split))) => split.wire,
            ItemKind::Model(Some(MItem::Join(join))) => join.wire,
            _ => continue,
        };
        let Wire::PowerSgd(rank) = wire else { continue };
        let thin = |(rows, columns): &&(u64, u64)| {
            let thin = u128::from(rank) * (u128::from(*rows) + u128::from(*columns));
            thin >= u128::from(*rows) * u128::from(*columns)
        };
        let Some((rows, columns)) = matrices.iter().find(thin) else { continue };
        let gaining = matrices.len() - matrices.iter().filter(thin).count();
        let problem = Problem::new(
            LOW_RANK,
            item.mark("wire"),
            format!(
                "at rank {rank} a matrix of {rows} x {columns} takes no fewer numbers than as it is; {gaining} of {} \
                 matrices gain",
                matrices.len()
            ),
            "write a lower rank, or a wire that does not go by matrices: `wire=int8`",
        );
        problems.push(if gaining > 0 { problem.warning() } else { problem });
    }
}

/// E13: a stage has a layer at least, and the longest sets the pace.
pub(super) fn stages(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    let Some(layers) = facts.layers else { return };
    let mut stages = 1_u32;
    for item in line.items {
        let ItemKind::Gradient(Some(GItem::Pipe(pipe))) = &item.kind else { continue };
        stages = stages.saturating_mul(pipe.n);
        let at = item.text.at.clone();
        if stages > layers {
            let message = format!("{stages} stages cannot each have one of {layers} layers");
            let help = match layers {
                0 | 1 => "use fewer stages: leave `pipe` out".to_owned(),
                _ => format!("write `pipe {layers}` or less"),
            };
            problems.push(Problem::new(STAGES, at, message, help));
        } else if !layers.is_multiple_of(stages) {
            let divisors = |from: u32| (1..=from).rev().find(|n| layers.is_multiple_of(*n)).unwrap_or(1);
            let message =
                format!("{layers} layers make no {stages} equal stages, and the longest sets the pace");
            let help = format!("write `pipe {}`, or balance the layers", divisors(stages));
            problems.push(Problem::new(STAGES, at, message, help).warning());
        }
    }
}
