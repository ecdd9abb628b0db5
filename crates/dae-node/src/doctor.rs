//! `dae-node doctor`: what may keep this machine from joining or training, each with the exact fix.

use dae_cluster::doctor::{Examined, Finding, Verdict, examine};
use serde::Serialize;

use crate::cli::HostArgs;
use crate::cluster_args::DoctorArgs;
use crate::exit::Failure;
use crate::host;
use crate::table::versioned;
use dae_train::exit::Exit;

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

/// Whether the host program is there and finds its libraries.
fn libtorch(args: &HostArgs) -> Finding {
    match host::program(args) {
        Ok(path) => Finding::ok("libtorch", format!("{} finds its libraries", path.display())),
        Err((what, fix)) => Finding::error("libtorch", what, fix),
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
    fn every_finding_but_a_good_one_tells_its_fix() {
        let text = show(&[Finding::ok("clock", "fine"), Finding::error("key", "missing", "make one")]);
        assert_eq!(
            text,
            format!("ok       clock       fine\nerror    key         missing\n{:<21}fix: make one\n", "")
        );
    }
}
