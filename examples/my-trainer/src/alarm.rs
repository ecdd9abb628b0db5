//! Early stopping as an actor: it is told of committed steps, and stops the run once the loss gets nowhere.

use dae::actor::{Actor, Context, Handler};
use dae::train::actors::Committed;
use dae::train::job::JobHandle;

/// A step's loss moves the smoothed one by this part of the difference: a memory of about fifty steps.
const SMOOTHING: f64 = 1.0 / 50.0;
/// Less than this, as a part of the best loss so far, is no improvement.
const LEAST_GAIN: f64 = 0.005;

/// Watches the loss, smoothed, and judges. It knows of no actor, so it can be tested alone.
#[derive(Debug, Clone)]
pub struct Watch {
    patience: u64,
    ceiling: f64,
    smoothed: Option<f64>,
    best: f64,
    best_step: u64,
}

impl Watch {
    /// Gives up after `patience` steps without improvement, or at once where the smoothed loss is above `ceiling`.
    pub fn new(patience: u64, ceiling: f64) -> Self {
        Self { patience, ceiling, smoothed: None, best: f64::INFINITY, best_step: 0 }
    }

    /// Takes in one step's loss; says why to stop, once there is a reason.
    pub fn judge(&mut self, step: u64, loss: f64) -> Option<String> {
        let smoothed = self.smoothed.map_or(loss, |s| s + (loss - s) * SMOOTHING);
        self.smoothed = Some(smoothed);
        if smoothed < self.best * (1.0 - LEAST_GAIN) {
            (self.best, self.best_step) = (smoothed, step);
        }
        if smoothed > self.ceiling {
            return Some(format!("the loss is {smoothed:.4}, above {}", self.ceiling));
        }
        let waited = step - self.best_step;
        (waited >= self.patience).then(|| format!("no better loss than {:.4} for {waited} steps", self.best))
    }
}

/// Stops the run when its [`Watch`] says so. The state is saved as with Ctrl-C, and the run can be resumed.
pub struct LossAlarm {
    watch: Watch,
    job: JobHandle,
}

impl LossAlarm {
    /// An alarm for this job.
    pub fn new(watch: Watch, job: JobHandle) -> Self {
        Self { watch, job }
    }
}

impl Actor for LossAlarm {
    const KIND: &'static str = "loss-alarm";
}

impl Handler<Committed> for LossAlarm {
    fn handle(&mut self, committed: Committed, context: &mut Context<'_, Self>) {
        if let Some(why) = committed.steps.iter().find_map(|s| self.watch.judge(s.step, s.loss)) {
            self.job.stop(why);
            // One alarm is enough.
            context.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_reason(mut watch: Watch, loss: impl Fn(u64) -> f64) -> Option<(u64, String)> {
        (1..1000).find_map(|step| watch.judge(step, loss(step)).map(|why| (step, why)))
    }

    #[test]
    fn a_loss_that_falls_is_left_alone() {
        assert_eq!(first_reason(Watch::new(20, 2.0), |step| 100.0 / (step + 99) as f64), None);
    }

    #[test]
    fn patience_ends_where_the_loss_stands_still() {
        let (step, why) = first_reason(Watch::new(20, 2.0), |_| 0.5).expect("a reason");
        assert_eq!((step, why.as_str()), (21, "no better loss than 0.5000 for 20 steps"));
    }

    #[test]
    fn one_bad_step_is_forgiven_and_a_bad_stretch_is_not() {
        let spike = |step| if step == 100 { 10.0 } else { 0.5 };
        assert_eq!(first_reason(Watch::new(5000, 1.0), spike), None);
        let (step, why) = first_reason(Watch::new(5000, 1.0), |step| if step < 100 { 0.5 } else { 10.0 })
            .expect("a reason");
        assert!((101..105).contains(&step) && why.contains("above 1"), "{step}: {why}");
    }

    #[test]
    fn a_resumed_run_starts_a_new_count() {
        let mut watch = Watch::new(20, 2.0);
        assert_eq!(watch.judge(5000, 0.5), None);
        assert_eq!(watch.judge(5019, 0.5), None);
        assert!(watch.judge(5020, 0.5).is_some());
    }
}
