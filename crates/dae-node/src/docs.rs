//! Shell completions and man pages.

use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit::Failure;
use dae_train::exit::Exit;

/// The completion script of `shell`.
pub fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "dae-node", &mut script);
    script
}

/// The main man page; or, with `to`, one page for every command, written into that folder.
pub fn man(to: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let done = match to {
        None => clap_mangen::Man::new(Cli::command()).render(&mut page),
        Some(folder) => {
            std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        }
    };
    done.map(|()| page).map_err(|error| {
        let place = to.map_or("the page".into(), |to| to.display().to_string());
        Failure::new(Exit::Failed, miette::miette!("{place}: cannot be written: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_man_page_tells_the_exit_codes() {
        let page = String::from_utf8(man(None).expect("in memory")).expect("roff is text");
        assert!(page.contains("130  interrupted"), "{page}");
    }

    #[test]
    fn completions_know_the_commands() {
        let script = String::from_utf8(completions(clap_complete::Shell::Bash)).expect("text");
        assert!(script.contains("fetch") && script.contains("--run-dir"));
    }
}
