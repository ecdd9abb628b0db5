//! The laws of the algebra over random words, bugs that they must catch, and what stragglers cost.
//!
//! | module | holds |
//! |---|---|
//! | `models` | what the words run on |
//! | `words` | random words, and how two of them are compared |
//! | `laws` | the list of laws, and the tests that they hold |
//! | `left`, `right`, `asynchronous`, `around` | the laws: of items left of `step`, right of it, in virtual time, of saving and wires |
//! | `mutants` | each deliberate bug breaks a law |
//! | `stragglers` | round times with slow workers |
//! | `optimum` | the methods of the field against a known optimum |

mod around;
mod asynchronous;
mod laws;
mod left;
mod models;
mod mutants;
mod optimum;
mod right;
mod stragglers;
mod words;
