//! `dae-node doctor`: what may keep this machine from joining or training, each with the exact fix.

use std::path::Path;

use dae_cluster::doctor::{Examined, Finding, Verdict, examine};
use serde::Serialize;

use crate::cli::HostArgs;
use crate::cluster_args::DoctorArgs;
use crate::exit::Failure;
use crate::host;
use crate::table::versioned;
use dae_train::exit::Exit;

/// The version of libtorch that hosts are built for.
const LIBTORCH: &str = "2.11.0";

#[derive(Serialize)]
struct Findings {
    findings: Vec<Finding>,
}

/// Looks, and prints a line for each thing; an error makes the exit code 1.
pub fn doctor(args: DoctorArgs) -> Result<Vec<u8>, Failure> {
    let reach = args.reach;
    let mut findings = examine(&Examined {
        cluster: reach.cluster,
        key_file: reach.key_file,
        iface: reach.iface,
        listen: reach.listen,
    });
    findings.push(libtorch(&args.host));
    let errors = findings.iter().filter(|finding| finding.verdict == Verdict::Error).count();
    let output = if args.json { versioned(&Findings { findings })? } else { show(&findings).into_bytes() };
    if errors == 0 {
        return Ok(output);
    }
    crate::print(&output)?;
    Err(Failure::new(Exit::Failed, miette::miette!("{errors} of these would keep this machine from working")))
}

/// Whether the host program is there and finds its libraries, and libtorch in the version it was made for.
fn libtorch(args: &HostArgs) -> Finding {
    match host::program(args) {
        Ok(path) => judge_libtorch(&path, host::libtorch(&path).as_deref()),
        Err((what, fix)) => Finding::error("libtorch", what, fix),
    }
}

fn judge_libtorch(host: &Path, folder: Option<&Path>) -> Finding {
    let found = format!("{} finds its libraries", host.display());
    let Some(folder) = folder else {
        return Finding::ok("libtorch", format!("{found}; which libtorch it uses, it does not tell"));
    };
    let file = folder.join("build-version");
    match std::fs::read_to_string(&file) {
        Ok(version) if version.trim().split('+').next() == Some(LIBTORCH) => {
            Finding::ok("libtorch", format!("{found}, libtorch {} in {}", version.trim(), folder.display()))
        }
        Ok(version) => Finding::warning(
            "libtorch",
            format!("{found}, but libtorch {:.40} in {}, not {LIBTORCH}", version.trim(), folder.display()),
            "run `cargo xtask libtorch` and then `cargo xtask build`",
        ),
        Err(_) => Finding::ok(
            "libtorch",
            format!(
                "{found}; the version of libtorch in {} is not known, for it has no build-version",
                folder.display()
            ),
        ),
    }
}

fn show(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let verdict = match finding.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Error => "error",
        };
        let fix = finding.fix.as_ref().map_or(String::new(), |fix| format!("\n{:<21}fix: {fix}", ""));
        format!("{verdict:<9}{:<12}{}{fix}\n", finding.topic, finding.what)
    };
    findings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_libtorch_is_told_with_both_versions() {
        let folder = tempfile::tempdir().expect("a folder");
        let judge = || judge_libtorch(Path::new("/dae-host"), Some(folder.path()));
        assert!(judge().verdict == Verdict::Ok && judge().what.contains("not known"));
        std::fs::write(folder.path().join("build-version"), format!("{LIBTORCH}+cu130\n")).expect("written");
        assert!(judge().verdict == Verdict::Ok && judge().what.contains("2.11.0+cu130"), "{:?}", judge());
        std::fs::write(folder.path().join("build-version"), "2.9.1+cpu\n").expect("written");
        let other = judge();
        assert!(other.verdict == Verdict::Warning && other.what.contains("libtorch 2.9.1+cpu"), "{other:?}");
        assert_eq!(judge_libtorch(Path::new("/dae-host"), None).verdict, Verdict::Ok);
    }

    #[test]
    fn the_version_is_the_one_that_is_downloaded() {
        let pinned = include_str!("../../../xtask/src/libtorch/flavor.rs");
        assert!(pinned.contains(&format!("TORCH_VERSION: &str = \"{LIBTORCH}\"")));
    }

    #[test]
    fn every_finding_but_a_good_one_tells_its_fix() {
        let text = show(&[Finding::ok("clock", "fine"), Finding::error("key", "missing", "make one")]);
        assert_eq!(
            text,
            format!("ok       clock       fine\nerror    key         missing\n{:<21}fix: make one\n", "")
        );
    }
}
