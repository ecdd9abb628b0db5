//! Which crate may depend on which, and who owns which outside crate.
use serde_json::{Value, json};

/// The floors, top to bottom, each with the floors it may stand on. A new edge is a decision: it is made here.
const PLAN: &[(&str, &[&str])] = &[
    (
        "dae-tests",
        &[
            "dae",
            "dae-torch",
            "dae-train",
            "dae-cluster",
            "dae-actor",
            "dae-schedule",
            "dae-collective",
            "dae-net",
        ],
    ),
    ("xtask", &[]),
    ("dae-node", &["dae-train", "dae-cluster", "dae-actor", "dae-schedule", "dae-net"]),
    (
        "dae",
        &["dae-torch", "dae-train", "dae-cluster", "dae-actor", "dae-schedule", "dae-collective", "dae-net"],
    ),
    ("dae-torch", &["dae-train", "dae-schedule", "dae-collective"]),
    ("dae-train", &["dae-actor", "dae-schedule", "dae-collective"]),
    ("dae-cluster", &["dae-actor", "dae-net"]),
    ("dae-actor", &["dae-net"]),
    ("dae-schedule", &[]),
    ("dae-collective", &[]),
    ("dae-net", &[]),
];

/// An example is a user's program: it sees the façade and nothing below.
const EXAMPLE: &[&str] = &["dae"];

/// The daemon starts in a fraction of a second and survives what a model does: it never links libtorch.
const APART: (&str, &[&str]) = ("dae-node", &["dae-torch", "dae", "tch", "torch-sys"]);

/// Outside crates with the only packages that may depend on them.
const OWNED: &[(&str, &[&str])] = &[
    ("tch", &["dae-torch"]),
    ("torch-sys", &["dae-torch"]),
    ("actix", &["dae-actor"]),
    ("actix-rt", &["dae-actor"]),
    ("clap", &["dae-node", "dae", "xtask"]),
];

/// A package of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Whether it lies in `examples/`.
    pub example: bool,
    /// The packages it names, for building, testing or running, on any system.
    pub needs: Vec<String>,
}

/// Reads what `cargo metadata --no-deps` prints.
pub fn packages_in(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let examples = format!("{}/examples/", text(&metadata["workspace_root"]));
    list(&metadata["packages"])
        .iter()
        .map(|package| Package {
            name: text(&package["name"]),
            example: text(&package["manifest_path"]).starts_with(&examples),
            needs: list(&package["dependencies"]).iter().map(|needed| text(&needed["name"])).collect(),
        })
        .collect()
}

/// Every edge that is not on the plan.
pub fn findings(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let name = &package.name;
        let Some(allowed) = allowed(package) else {
            found.push(format!(
                "{name} is not on the plan in xtask/tests/tidy/edges.rs: say there what it may stand on"
            ));
            continue;
        };
        for needed in &package.needs {
            let inside = packages.iter().any(|other| other.name == *needed);
            if inside && !allowed.contains(&needed.as_str()) {
                found.push(format!("{name} -> {needed} is not on the plan"));
            }
            let owners = OWNED.iter().find(|(owned, _)| owned == needed).map(|(_, owners)| owners);
            if owners.is_some_and(|owners| !owners.contains(&name.as_str())) {
                found.push(format!(
                    "{name} -> {needed}: only {} may",
                    owners.map_or(String::new(), |o| o.join(", "))
                ));
            }
        }
    }
    let (name, apart) = APART;
    let reached = reach(name, packages);
    found.extend(
        apart
            .iter()
            .filter(|far| reached.iter().any(|r| r == *far))
            .map(|far| format!("{name} reaches {far}")),
    );
    found
}

fn allowed(package: &Package) -> Option<&'static [&'static str]> {
    if package.example {
        return Some(EXAMPLE);
    }
    PLAN.iter().find(|(name, _)| *name == package.name).map(|(_, allowed)| *allowed)
}

/// Everything that `from` depends on, directly or through other packages of the workspace.
fn reach(from: &str, packages: &[Package]) -> Vec<String> {
    let mut reached: Vec<String> = vec![from.to_owned()];
    let mut next = 0;
    while let Some(name) = reached.get(next).cloned() {
        let needs = packages.iter().filter(|package| package.name == name).flat_map(|package| &package.needs);
        for needed in needs {
            if !reached.contains(needed) {
                reached.push(needed.clone());
            }
        }
        next += 1;
    }
    reached.split_off(1)
}

fn package(name: &str, needs: &[&str]) -> Package {
    Package { name: name.to_owned(), example: false, needs: needs.iter().map(|&n| n.to_owned()).collect() }
}

#[test]
fn the_plan_itself_points_down() {
    for (row, (name, allowed)) in PLAN.iter().enumerate() {
        for below in *allowed {
            let lower = PLAN.iter().position(|(other, _)| other == below);
            assert!(lower.is_some_and(|lower| lower > row), "{name} -> {below}");
        }
    }
}

#[test]
fn a_good_tree_passes() {
    let packages = [package("dae-actor", &["dae-net", "actix", "serde"]), package("dae-net", &["serde"])];
    assert_eq!(findings(&packages), [""; 0]);
}

#[test]
fn an_arrow_up_fails() {
    let packages = [package("dae-actor", &[]), package("dae-net", &["dae-actor"])];
    assert_eq!(findings(&packages), ["dae-net -> dae-actor is not on the plan"]);
}

#[test]
fn an_unknown_crate_fails() {
    assert!(findings(&[package("dae-more", &[])])[0].starts_with("dae-more is not on the plan"));
}

#[test]
fn a_borrowed_outside_crate_fails() {
    for (name, needs) in
        [("dae-train", "tch"), ("dae-train", "actix"), ("dae-net", "clap"), ("dae", "torch-sys")]
    {
        let found = findings(&[package(name, &[needs])]);
        assert!(found.len() == 1 && found[0].starts_with(&format!("{name} -> {needs}: only ")), "{found:?}");
    }
}

#[test]
fn an_example_sees_the_facade_only() {
    let mut trainer = package("trainer", &["dae", "dae-torch"]);
    trainer.example = true;
    let found = findings(&[trainer, package("dae", &[]), package("dae-torch", &[])]);
    assert_eq!(found, ["trainer -> dae-torch is not on the plan"]);
}

#[test]
fn the_daemon_stays_apart_at_any_distance() {
    let packages = [
        package("dae-node", &["dae-train"]),
        package("dae-train", &["dae-torch"]),
        package("dae-torch", &["tch"]),
    ];
    let found = findings(&packages).join("\n");
    assert!(
        found.contains("dae-node reaches dae-torch") && found.contains("dae-node reaches tch"),
        "{found}"
    );
}

#[test]
fn cargos_answer_is_read() {
    let metadata = json!({ "workspace_root": "w", "packages": [
        { "name": "a", "manifest_path": "w/examples/a/Cargo.toml", "dependencies": [{ "name": "b" }, { "name": "c" }] },
        { "name": "b", "manifest_path": "w/crates/b/Cargo.toml", "dependencies": [] },
    ]});
    let packages = packages_in(&metadata);
    assert!(packages[0].example && !packages[1].example);
    assert_eq!(packages[0].needs, ["b", "c"]);
}
