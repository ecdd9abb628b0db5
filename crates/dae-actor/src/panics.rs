//! Panics inside actors, caught with their message and place.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static CAUSE: RefCell<Option<String>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Runs `body`; a panic becomes its message and place. Nothing is printed: who catches it tells it.
pub(crate) fn caught<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |info| {
            if INSIDE.get() {
                CAUSE.replace(Some(describe(info))).map_or((), drop)
            } else {
                previous(info)
            }
        }));
    });
    let outer = INSIDE.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(outer);
    outcome.map_err(|_| {
        CAUSE
            .take()
            .unwrap_or_else(|| "it panicked without a message".into())
    })
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("a panic without a message");
    match info.location() {
        Some(place) => format!("{message} (panicked at {place})"),
        None => message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        let cause = caught(|| panic!("no {}", "luck")).unwrap_err();
        assert!(
            cause.starts_with("no luck (panicked at ") && cause.contains("panics.rs:"),
            "{cause}"
        );
        assert_eq!(caught(|| 3), Ok(3));
    }
}
