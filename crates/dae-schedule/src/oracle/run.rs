//! [`Run`]: a word, or a phase of two, run round by round.

use super::deal::Deal;
use super::dice::dice;
use super::process::{Motion, Process};
use super::setting::Setting;
use super::tape::{Tape, Torn};
use super::trajectory::{Push, Round};
use super::unsupported::Unsupported;
use super::world::World;
use crate::schedule::{Carry, Condition, Phase, Schedule};

/// A schedule being interpreted. Where it stands is a function of the schedule, the setting, the first parameters and
/// the number of rounds, to the bit.
pub struct Run<'a> {
    schedule: Schedule,
    world: World<'a>,
    process: Process,
    x: Vec<f32>,
    rounds: u64,
    now: f64,
    /// Steps of the first word, once the second has taken over.
    switched: Option<u64>,
}

impl<'a> Run<'a> {
    /// Begins at these parameters.
    ///
    /// # Errors
    /// If the word has no meaning here, or there are not as many parameters as the model has.
    pub fn new(schedule: &Schedule, x: Vec<f32>, setting: Setting<'a>) -> Result<Self, Unsupported> {
        let model = setting.model.parameters();
        if model != x.len() {
            return Err(Unsupported::Parameters { model, given: x.len() });
        }
        let (word, then) = match schedule {
            Schedule::Word(word) => (word, None),
            Schedule::Phase(phase) => (&phase.first, Some(&phase.then)),
        };
        let process = Process::build(word, word.model().len(), 0, &x)?;
        // What is refused is refused at once, not when its turn comes.
        then.map(|then| Process::build(then, then.model().len(), 0, &x)).transpose()?;
        let deal = Deal::new(word, setting.batch.max(1), (0, setting.total));
        let workers = schedule.workers() as usize;
        let world = World { setting, deal, samples: 0, log: vec![], lasted: vec![0.0; workers] };
        Ok(Self { schedule: schedule.clone(), world, process, x, rounds: 0, now: 0.0, switched: None })
    }

    /// One round of the whole word; of a phase, of the word whose turn it is. A condition is judged between rounds.
    pub fn round(&mut self) -> Round {
        let report = self.process.round(&mut self.world, &self.x, self.now);
        if let Motion::Value(value) = report.motion {
            self.x = value;
        }
        self.now = report.end;
        let round = Round {
            round: self.rounds,
            time: self.now,
            params: self.x.clone(),
            replicas: self.process.replicas(),
            loss: report.loss / report.weight,
            weight: report.weight,
            samples: self.world.samples,
        };
        self.rounds += 1;
        if let (Schedule::Phase(phase), None) = (&self.schedule, self.switched) {
            let phase = phase.clone();
            if self.holds(phase.until, round.loss) {
                self.switch(&phase);
            }
        }
        round
    }

    /// So many rounds.
    pub fn rounds(&mut self, count: usize) -> Vec<Round> {
        (0..count).map(|_| self.round()).collect()
    }

    /// Every push to every centre, in the order they were taken up. It is no part of what is saved.
    pub fn log(&self) -> &[Push] {
        &self.world.log
    }

    /// All that the rounds to come depend on, besides what [`Run::new`] was given.
    pub fn save(&mut self) -> Vec<u64> {
        let mut tape = Tape::default();
        self.tape(&mut tape);
        tape.recorded(self.label())
    }

    /// Takes over what [`Run::save`] gave, of a run of the same schedule in the same setting.
    ///
    /// # Errors
    /// If it is not that, or not whole; the run then is of no use.
    pub fn restore(&mut self, saved: Vec<u64>) -> Result<(), Torn> {
        let mut tape = Tape::play(self.label(), saved)?;
        self.tape(&mut tape);
        tape.ended_well()
    }

    /// Tells the schedules and models apart that states belong to.
    fn label(&self) -> u64 {
        dice(self.schedule.hash(), self.x.len() as u64, self.world.setting.batch)
    }

    #[cfg(test)]
    pub(super) fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn tape(&mut self, tape: &mut Tape) {
        tape.maybe(&mut self.switched, || 0, Tape::number);
        if let (true, Some(steps), Schedule::Phase(phase)) =
            (tape.is_playing(), self.switched, &self.schedule)
        {
            let phase = phase.clone();
            self.begin_second(&phase, steps);
        }
        tape.number(&mut self.rounds);
        tape.number(&mut self.world.samples);
        tape.float(&mut self.now);
        tape.floats(&mut self.x);
        self.world.lasted.iter_mut().for_each(|lasted| tape.float(lasted));
        self.process.tape(tape);
    }

    fn holds(&mut self, until: Condition, loss: f64) -> bool {
        match until {
            Condition::Step(steps) => self.steps() >= steps,
            Condition::Time(time) => self.now >= time as f64,
            Condition::Loss(bound) => loss <= f64::from(bound),
            Condition::Straggle(times) => {
                let mut lasted: Vec<f64> =
                    self.world.lasted.iter().copied().filter(|time| *time > 0.0).collect();
                lasted.sort_by(f64::total_cmp);
                let slowest = lasted.last().copied().unwrap_or(0.0);
                lasted.get(lasted.len() / 2).is_some_and(|median| slowest >= f64::from(times) * median)
            }
        }
    }

    /// Optimizer steps done by the worker that has done most.
    fn steps(&mut self) -> u64 {
        let mut most = 0;
        self.process.leaves(&mut |leaf| most = most.max(leaf.steps));
        most
    }

    /// The second word takes over, at the first position that no worker of the first has had. It begins its optimizers
    /// anew, or with `carry=state` each from that of the first word's first worker.
    fn switch(&mut self, phase: &Phase) {
        let steps = self.steps();
        let mut state = None;
        self.process.leaves(&mut |leaf| state = state.take().or_else(|| leaf.rule().cloned()));
        self.begin_second(phase, steps);
        if let (Carry::State, Some(state)) = (phase.carry, state) {
            self.process.leaves(&mut |leaf| leaf.carry(&state));
        }
    }

    fn begin_second(&mut self, phase: &Phase, steps: u64) {
        // It was built once already.
        if let Ok(process) = Process::build(&phase.then, phase.then.model().len(), 0, &self.x) {
            self.process = process;
        }
        let setting = &self.world.setting;
        let first = Deal::new(&phase.first, setting.batch.max(1), (0, setting.total)).after(steps);
        self.world.deal = Deal::new(&phase.then, setting.batch.max(1), (first, setting.total));
        self.world.lasted.fill(0.0);
        self.switched = Some(steps);
    }
}
