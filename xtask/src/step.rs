//! One command of a task: printed as a person would type it, then run.
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::failure::{Failure, Outcome};

/// Prints the command and runs it in the foreground, standard input closed.
pub fn run(mut command: Command) -> Outcome {
    let line = line(&command);
    eprintln!("$ {line}");
    let status = command.stdin(Stdio::null()).status().map_err(|e| cannot_start(&line, &e))?;
    if status.success() { Ok(()) } else { Err(Failure::Status { line, status: exit_status(status.code()) }) }
}

/// Prints the command, runs it, and gives back its standard output; standard error stays the user's.
pub fn read(mut command: Command) -> Outcome<String> {
    let line = line(&command);
    eprintln!("$ {line}");
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| cannot_start(&line, &e))?;
    text_of(output, line)
}

fn text_of(output: Output, line: String) -> Outcome<String> {
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failure::Status { line, status: exit_status(output.status.code()) }),
    }
}

/// A process killed by a signal has no code; 1 says "failed" without inventing more.
fn exit_status(code: Option<i32>) -> u8 {
    code.and_then(|code| u8::try_from(code).ok()).filter(|&status| status != 0).unwrap_or(1)
}

fn cannot_start(line: &str, error: &std::io::Error) -> Failure {
    Failure::says(format!("cannot start `{line}` ({error}): build first with `cargo xtask build`"))
}

/// The command with its program by its short name and with quotes where a shell needs them.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    std::iter::once(name)
        .chain(command.get_args().map(|argument| quoted(&argument.to_string_lossy())))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./:+,@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_can_be_pasted_into_a_shell() {
        let mut command = Command::new("target/release/dae-node");
        command.args(["run", "a b", "it's", "x=1"]);
        assert_eq!(line(&command), r"dae-node run 'a b' 'it'\''s' x=1");
    }

    #[test]
    fn the_status_is_passed_on() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 7"]);
        assert!(matches!(run(command), Err(Failure::Status { status: 7, .. })));
        assert_eq!(exit_status(None), 1);
        assert_eq!(exit_status(Some(256)), 1);
    }

    #[test]
    fn output_is_read() {
        let mut command = Command::new("echo");
        command.arg("hello");
        assert_eq!(read(command).unwrap(), "hello\n");
    }
}
