//! The list of laws, and the tests that they hold.

use super::left;

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
}
