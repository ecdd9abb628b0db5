//! A word as a picture: a frame for each item, inside out, with some of its children and what flows between them.

use super::quantity::bytes;
use super::svg::{Anchor, Svg};
use crate::cost::{Cost, is_all_reduce};
use crate::gradient::GItem;
use crate::model::MItem;
use crate::word::Word;

/// What is between the children of an item.
enum Hub {
    /// Nothing: one child.
    Around,
    /// A bar that all are joined to: a sum, or a centre.
    Bar(String),
    /// Arrows from each to the next; both ways or one.
    Chain(bool),
}

struct Frame {
    title: String,
    children: u32,
    shown: u32,
    hub: Hub,
}

const WORKER: (f64, f64) = (120.0, 40.0);
const GAP: f64 = 26.0;
const PAD: f64 = 8.0;
const TITLE: f64 = 18.0;
const BAR: f64 = 44.0;
/// Room for the sign that says how many more there are.
const MORE: f64 = 70.0;
/// Workers that are drawn, at most.
const MOST_WORKERS: u32 = 12;
/// Children of one item that are drawn, at most.
const MOST_CHILDREN: u32 = 3;

/// Draws a word that costs this.
pub fn picture(word: &Word, cost: &Cost) -> String {
    let frames = frames(word, cost);
    let mut svg = Svg::new();
    svg.text((10.0, 22.0), Anchor::Start, 14.0, 1400.0, &cost.word);
    let (_, height) = draw(&mut svg, &frames, (10.0, 36.0));
    let mut y = 36.0 + height + 22.0;
    for traffic in &cost.traffic {
        let sent = (bytes(traffic.endpoint_bytes), bytes(traffic.busiest_bytes));
        let text = format!("{}: {} a step by each end, {} at the busiest", traffic.link, sent.0, sent.1);
        svg.text((10.0, y), Anchor::Start, 12.0, 1400.0, &text);
        y += 18.0;
    }
    let nodes = format!("{} workers on {} nodes; 1 checkpointer on the first", cost.workers, cost.nodes);
    svg.text((10.0, y), Anchor::Start, 12.0, 1400.0, &nodes);
    svg.finish()
}

/// The frames, the outermost first.
fn frames(word: &Word, cost: &Cost) -> Vec<Frame> {
    let model =
        word.model().iter().rev().map(|item| frame(item.to_string(), item.children(), of_model(item)));
    let step = std::iter::once(frame(word.step().to_string(), 1, Hub::Around));
    let gradient = word
        .gradient()
        .iter()
        .rev()
        .map(|item| frame(item.to_string(), item.children(), of_gradient(item, cost)));
    let mut frames: Vec<Frame> = model.chain(step).chain(gradient).collect();
    let mut drawn = 1;
    for frame in &mut frames {
        let most = MOST_CHILDREN.min(MOST_WORKERS / drawn).max(1);
        frame.shown = frame.children.min(most);
        drawn *= frame.shown;
    }
    frames
}

fn frame(title: String, children: u32, hub: Hub) -> Frame {
    Frame { title, children, shown: 1, hub: if children == 1 { Hub::Around } else { hub } }
}

fn of_gradient(item: &GItem, cost: &Cost) -> Hub {
    match item {
        GItem::Accum(_) => Hub::Around,
        GItem::Pipe(_) => Hub::Chain(true),
        GItem::Split(_) | GItem::Tensor(_) => {
            let name = item.to_string();
            let chosen = cost.all_reduces.iter().find(|chosen| chosen.item == name);
            Hub::Bar(chosen.map_or("sum".into(), |chosen| format!("all-reduce: {}", chosen.algorithm.name())))
        }
    }
}

fn of_model(item: &MItem) -> Hub {
    match item {
        MItem::Every(_) => Hub::Around,
        MItem::Join(join) if is_all_reduce(join) => Hub::Bar("all-reduce of displacements".into()),
        MItem::Join(join) => Hub::Bar(match join.shards {
            1 => "parameter server".into(),
            shards => format!("parameter server, {shards} shards"),
        }),
        MItem::Gossip(gossip) => Hub::Chain(!gossip.push),
    }
}

/// Width and height of the frames from here on in.
fn size(frames: &[Frame]) -> (f64, f64) {
    let Some((frame, inner)) = frames.split_first() else { return WORKER };
    let (width, height) = size(inner);
    let many = f64::from(frame.shown);
    let more = if frame.shown < frame.children { MORE } else { 0.0 };
    let bar = if matches!(frame.hub, Hub::Bar(_)) { BAR } else { 0.0 };
    (many * width + (many - 1.0) * GAP + more + 2.0 * PAD, height + TITLE + bar + 2.0 * PAD)
}

fn draw(svg: &mut Svg, frames: &[Frame], (x, y): (f64, f64)) -> (f64, f64) {
    let Some((frame, inner)) = frames.split_first() else {
        svg.rect((x, y), WORKER, "#dbeafe", "#3b82f6");
        svg.text((x + WORKER.0 / 2.0, y + 17.0), Anchor::Middle, 12.0, WORKER.0, "worker");
        svg.text((x + WORKER.0 / 2.0, y + 32.0), Anchor::Middle, 10.0, WORKER.0, "loader");
        return WORKER;
    };
    let whole = size(frames);
    svg.rect((x, y), whole, "none", "#bbb");
    svg.text((x + PAD, y + 14.0), Anchor::Start, 12.0, whole.0 - 2.0 * PAD, &frame.title);
    let (width, height) = size(inner);
    let top = y + TITLE + PAD;
    let bar = matches!(frame.hub, Hub::Bar(_));
    let below = if bar { top + BAR } else { top };
    let at = |child: u32| x + PAD + f64::from(child) * (width + GAP);
    if let Hub::Bar(name) = &frame.hub {
        svg.rect((x + PAD, top), (whole.0 - 2.0 * PAD, 22.0), "#fef3c7", "#d97706");
        svg.text((x + whole.0 / 2.0, top + 15.0), Anchor::Middle, 11.0, whole.0 - 2.0 * PAD, name);
    }
    for child in 0..frame.shown {
        draw(svg, inner, (at(child), below));
        match frame.hub {
            Hub::Bar(_) => {
                svg.arrow((at(child) + width / 2.0, below), (at(child) + width / 2.0, top + 22.0), true);
            }
            Hub::Chain(both) if child > 0 => {
                let y = below + height / 2.0;
                svg.arrow((at(child) - GAP, y), (at(child), y), both);
            }
            Hub::Chain(_) | Hub::Around => {}
        }
    }
    if frame.shown < frame.children {
        let more = format!("+ {}", frame.children - frame.shown);
        svg.text((at(frame.shown) - GAP / 2.0, below + height / 2.0), Anchor::Start, 12.0, MORE, &more);
    }
    whole
}
