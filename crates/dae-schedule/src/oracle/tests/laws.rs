//! The list of laws, and the tests that they hold.

use super::{around, asynchronous, left, right};

/// A law, checked over so many random cases.
pub(super) struct Law {
    pub(super) name: &'static str,
    pub(super) holds: fn(u32) -> Result<(), String>,
}

macro_rules! laws {
    ($($(#[$doc:meta])* $module:ident::$name:ident;)*) => {
        pub(super) const LAWS: &[Law] = &[$(Law { name: stringify!($name), holds: $module::$name }),*];
        $(#[test]
        fn $name() {
            if let Err(broken) = $module::$name(256) {
                panic!("{broken}");
            }
        })*
    };
}

laws! {
    left::g1;
    left::g2;
    left::g3;
    left::g4;
    left::g5;
    left::g7;
    left::g8;
    right::m1;
    right::m2;
    right::m3;
    asynchronous::m4;
    right::m5;
    right::m6;
    right::m7;
    right::m8;
    right::m9;
    asynchronous::m10;
    asynchronous::log;
    asynchronous::delay_is_corrected;
    right::sum_is_as_many_means;
    right::all_to_all_is_a_centre;
    right::samples_are_counted;
    around::c1;
    around::p1;
    around::e1;
    around::normal;
}
