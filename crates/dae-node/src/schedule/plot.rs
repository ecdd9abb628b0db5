//! Costs side by side, as bars.

use dae_schedule::cost::Cost;
use dae_schedule::explain::{Anchor, Svg, bytes, count, seconds};

use super::compare::network_bytes;

const LEFT: f64 = 10.0;
const WIDE: f64 = 460.0;
const ROOM: f64 = 300.0;
const BAR: f64 = 14.0;
const ROW: f64 = 66.0;

/// A pair of bars for each: the time of a step, of which computing; and what a machine sends in it.
pub fn plot(costs: &[Cost]) -> String {
    let most = |of: fn(&Cost) -> f64| costs.iter().map(of).fold(0.0, f64::max);
    let (slowest, busiest) = (most(|cost| cost.step_s), most(network_bytes));
    let long = |part: f64, of: f64| if of > 0.0 { (WIDE * part / of).max(1.0) } else { 1.0 };
    let mut svg = Svg::new();
    svg.text(
        (LEFT, 22.0),
        Anchor::Start,
        12.0,
        WIDE + ROOM,
        "a step: computing (blue), waiting (grey); sent by each node (amber)",
    );
    for (at, cost) in costs.iter().enumerate() {
        let top = 36.0 + ROW * at as f64;
        svg.text((LEFT, top + 12.0), Anchor::Start, 12.0, WIDE + ROOM, &cost.word);
        let whole = long(cost.step_s, slowest);
        let (y, sent_y) = (top + 18.0, top + 22.0 + BAR);
        svg.rect((LEFT, y), (whole, BAR), "#d1d5db", "none");
        svg.rect((LEFT, y), (whole * (1.0 - cost.idle_share), BAR), "#3b82f6", "none");
        let time = format!("{}, {} samples/s", seconds(cost.step_s), count(cost.samples_per_s.round()));
        svg.text((LEFT + whole + 6.0, y + 11.0), Anchor::Start, 11.0, ROOM, &time);
        let sent = network_bytes(cost);
        let wide = long(sent, busiest);
        svg.rect((LEFT, sent_y), (wide, BAR), "#f59e0b", "none");
        svg.text((LEFT + wide + 6.0, sent_y + 11.0), Anchor::Start, 11.0, ROOM, &bytes(sent));
    }
    svg.finish()
}
