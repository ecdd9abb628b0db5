//! Reads the items left of `step`.

use crate::gradient::{Algo, GItem, Order, Pipe, PipeSched, Split, Tensor};
use crate::problem::Problem;
use crate::read::parse::MAX_COUNT;
use crate::read::tail::Given;

/// Reads `accum`, `split`, `pipe` or `tensor`; nothing if any of it is wrong.
pub(crate) fn gradient(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<GItem> {
    let before = problems.len();
    let item = match given.op {
        "accum" => {
            let count = given.count("micro-batches", problems);
            given.no_place(problems);
            count.map(GItem::Accum)
        }
        "split" => split(given, problems).map(GItem::Split),
        "pipe" => pipe(given, problems).map(GItem::Pipe),
        _ => tensor(given, problems).map(GItem::Tensor),
    };
    given.no_strays(problems);
    item.filter(|_| problems.len() == before)
}

fn split(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Split> {
    let n = given.count("workers", problems);
    let place = given.place(problems);
    let algo = given.choice("algo", Algo::NAMES, problems);
    let wire = given.wire(problems);
    let order = given.choice("order", Order::NAMES, problems);
    let bucket = given.bytes("bucket", problems);
    let overlap = given.flag("overlap", problems);
    Some(Split { n: n?, place, algo: algo?, wire: wire?, order: order?, bucket, overlap })
}

fn pipe(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Pipe> {
    let n = given.count("stages", problems);
    let place = given.place(problems);
    let micro = given.whole("micro", (1, MAX_COUNT), 1, problems);
    let sched = given.choice("sched", PipeSched::NAMES, problems);
    Some(Pipe { n: n?, place, micro: micro?, sched: sched? })
}

fn tensor(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Tensor> {
    let n = given.count("parts", problems);
    let place = given.place(problems);
    Some(Tensor { n: n?, place })
}
