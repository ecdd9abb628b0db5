//! Any text is a schedule that prints as what is read as the same schedule, or a list of problems that lie within it.
#![no_main]

use dae_schedule::{Facts, check, not_yet_run, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(schedule) => {
            let printed = schedule.to_string();
            assert_eq!(parse(&printed).as_ref(), Ok(&schedule), "{printed}");
            let normal = schedule.normal();
            assert_eq!(normal.normal(), normal, "{printed}");
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(problems.iter().all(|p| text.get(p.at.clone()).is_some()), "{problems:?}");
        }
    }
    not_yet_run(text);
    check(text, &Facts::default());
});
