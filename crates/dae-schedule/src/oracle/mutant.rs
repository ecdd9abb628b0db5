//! Deliberate bugs, to see that the laws catch them. They exist in tests alone.

/// Whether this bug is switched on; never outside tests.
#[cfg(test)]
macro_rules! mutated {
    ($which:ident) => {
        crate::oracle::mutant::is_on(crate::oracle::mutant::Mutant::$which)
    };
}
#[cfg(not(test))]
macro_rules! mutated {
    ($which:ident) => {
        false
    };
}

#[cfg(test)]
pub(super) use switch::{Mutant, is_on, with};

#[cfg(test)]
mod switch {
    use std::cell::Cell;

    /// A deliberate bug.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in super::super) enum Mutant {
        /// The pseudo-gradient is new - old.
        WrongSign,
        /// A join's mean takes every child alike.
        LostWeight,
        /// What a codec loses is forgotten.
        LostResidual,
        /// A grain that is not whole is left out.
        DroppedTail,
        /// An update counts its first contribution twice.
        DoublePush,
        /// A child may be one round further ahead.
        SlackOffByOne,
        /// The inner optimizer begins anew at each pull.
        MomentumReset,
        /// `split` averages the means of its replicas.
        MeanOfMeans,
        /// Old displacements are multiplied by their age.
        StaleInverted,
        /// The second-order term is taken away where it is to be added.
        DelayUncorrected,
        /// The outer optimizer has several states, used in turn.
        OuterStatePerWorker,
        /// A peer keeps less of its own than its share.
        MixLosesMass,
        /// Push-sum sends the parameters without their weight.
        PushWithoutWeight,
        /// What should be dropped is applied.
        LateKept,
        /// `every h` does one round less, from 2 on.
        EveryOneShort,
        /// Children pull what the centre held before the last update.
        OldPull,
        /// An elastic child goes all the way to the centre.
        ElasticPull,
        /// The last fragment is never due.
        LostFragment,
        /// A fragment is merged as soon as it is due.
        DelayIgnored,
        /// Steps take a time that nobody can repeat.
        Unrepeatable,
        /// Residuals are not saved.
        UnsavedResidual,
        /// Not a bug: all fragments are due at once, as law M8 has it.
        AllAtOnce,
        /// Not a bug: a join of all has no slack of its own and drops what is late, as law M4 has it.
        BareQuorum,
    }

    thread_local! {
        /// A bit for each.
        static ON: Cell<u32> = const { Cell::new(0) };
    }

    pub(in super::super) fn is_on(mutant: Mutant) -> bool {
        ON.get() >> mutant as u32 & 1 == 1
    }

    /// Runs this with the bug switched on in this thread, besides those that are already.
    pub(in super::super) fn with<T>(mutant: Mutant, run: impl FnOnce() -> T) -> T {
        struct Before(u32);
        impl Drop for Before {
            fn drop(&mut self) {
                ON.set(self.0);
            }
        }
        let _before = Before(ON.get());
        ON.set(ON.get() | 1 << mutant as u32);
        run()
    }
}
