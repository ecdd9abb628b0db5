//! Keys together.

use super::*;

#[test]
fn keys_that_contradict_each_other_are_refused() {
    #[rustfmt::skip]
    let cases = [
        ("[job]\nsteps = 5\nepochs = 2", "job.epochs", "conflict", "2", "remove one"),
        ("[job]\nsteps = 5\n[schedule]\nwarmup_steps = 5", "schedule.warmup_steps", "conflict", "5", "fewer"),
        ("[data]\nkind = \"idx\"", "data.path", "missing", "data", "add path"),
        (
            "[job]\non_nonfinite = \"skip_if_any\"\n[schedule]\nword = \"step sgd(0.1) | join 2\"",
            "job.on_nonfinite",
            "conflict",
            "\"skip_if_any\"",
            "take the `join` out",
        ),
        ("[data]\neval_path = \"x\"", "data.eval_path", "conflict", "\"x\"", "kind = \"idx\""),
        ("[data.corruption]\nlevel = 1.5", "data.corruption.level", "out-of-range", "1.5", "0 to 1"),
        ("[model]\noutput = \"linear\"", "model.output", "conflict", "\"linear\"", "loss = \"mse\""),
        ("[model]\nemphasis_clean = 0\nemphasis_corrupted = 0", "model.emphasis_clean", "conflict", "0", "above 0"),
        ("[model]\nlayers = [784, 64, 10]", "model.layers", "conflict", "[784, 64, 10]", "[784, ..., 784]"),
        ("[model]\ntied = true\nlayers = [9, 5, 4, 9]", "model.layers", "conflict", "[9, 5, 4, 9]", "same from both"),
        ("[model]\ntied = true\nlayers = [9, 9]", "model.layers", "conflict", "[9, 9]", "odd number"),
        ("[model.options]\na = 1", "model.options", "conflict", "options", "remove the table"),
        ("[schedule]\nlr = \"step\"", "schedule.decay_every", "missing", "schedule", "add decay_every"),
        ("[schedule]\nmin_factor = 0.1", "schedule.min_factor", "conflict", "0.1", "lr = \"cosine\""),
        ("[schedule]\nword = \"split 3 @cluster | step adam\"\n[placement]\nnodes = [\"a\", \"b\"]", "placement.nodes", "conflict", "[\"a\", \"b\"]", "name more"),
        ("[placement]\nnodes = [\"a\", \"b\", \"a\"]", "placement.nodes[2]", "conflict", "\"a\"", "a list of names"),
        ("[placement]\nnodes = [\"a b\"]", "placement.nodes[0]", "out-of-range", "\"a b\"", "a list of names"),
        ("[placement]\nnodes = [3]", "placement.nodes[0]", "wrong-type", "3", "a list of names"),
        ("[model]\nkind = \"mpl\"", "model.kind", "unknown-kind", "\"mpl\"", "did you mean \"mlp\"?"),
        ("[data]\nkind = \"faces\"", "data.kind", "unknown-kind", "\"faces\"", "idx, mnist"),
    ];
    all_refused(&cases);
    assert!(compiled("[data.corruption]\nkind = \"gaussian\"\nlevel = 1.5").is_ok());
    let wide = format!("[model]\nlayers = {:?}", [1_000_000; 64]);
    assert_eq!(said(compiled(&wide))[0].1, "out-of-range");
}

#[test]
fn mlp_keys_beside_another_kind_are_refused_with_the_place_to_put_them() {
    refused(
        "[model]\nkind = \"conv\"\nlayers = [4, 4]",
        "model.layers",
        "conflict",
        "[4, 4]",
        "remove `layers`",
    );
    let loaded = read("[model]\nkind = \"mine\"\ntied = true\nactivation = \"tanh\"").unwrap();
    let error = loaded.compile(&Kinds::stock().with_model("mine")).unwrap_err();
    let keys: Vec<_> = error.problems().iter().map(|p| p.key()).collect();
    assert_eq!(keys, ["model.tied", "model.activation"]);
    assert!(error.problems().iter().all(|p| p.fix().contains("[model.options]")));
}

#[test]
fn registered_kinds_take_options_of_their_own() {
    let text = "[model]\nkind = \"mine\"\n[model.options]\nwidth = 3\n[data]\nkind = \"faces\"\n[data.options]\nsize = [1, 2]\n[actors.loader]\nrate = 0.5";
    let kinds = Kinds::stock().with_model("mine").with_data("faces").with_actor("loader");
    let plan = read(text).unwrap().compile(&kinds).unwrap();
    let built = Topology::new("job")
        .model("mine")
        .model_option("width", 3)
        .data("faces")
        .data_option("size", vec![1, 2])
        .actor("loader", toml::Table::from_iter([("rate".to_owned(), 0.5.into())]));
    assert_eq!(plan.topology(), &built);
    assert!(built.clone().compile(&kinds).is_ok());
    assert_eq!(said(built.compile(&Kinds::stock())).len(), 3);
}

#[test]
fn problems_of_the_schedule_stand_at_their_place_in_the_string() {
    let splt = |text: &str| said(compiled(text))[0].2.clone();
    assert_eq!(splt("[schedule]\nword = \"splt 2 | step adam(1e-3)\""), "splt");
    assert_eq!(splt("[schedule]\nword = 'splt 2 | step adam(1e-3)'"), "splt");
    assert_eq!(splt("[schedule]\nword = \"\"\"\nsplt 2 | step adam(1e-3)\"\"\""), "splt");
    assert_eq!(splt("[schedule]\nword = \"split 2 | \\u0073plt\""), "\"split 2 | \\u0073plt\"");
    let two = said(compiled("[schedule]\nword = \"splt 2 | step adm(1e-3)\""));
    assert_eq!(two.iter().map(|(.., excerpt)| excerpt.as_str()).collect::<Vec<_>>(), ["splt", "adm"]);
    refused("[schedule]\nword = 3", "schedule.word", "wrong-type", "3", "word = \"3\"");
}

#[test]
fn what_was_refused_is_not_blamed_twice() {
    refused("[model]\nloss = 3\noutput = \"linear\"", "model.loss", "wrong-type", "3", "\"bce\"");
    refused("[model]\nlayers = [0, 4, 784]", "model.layers[0]", "out-of-range", "0", "widths");
}

#[test]
fn what_is_built_in_rust_is_checked_as_strictly_as_a_file() {
    let compile = |t: Topology| said(t.compile(&Kinds::stock()));
    assert_eq!(
        compile(Topology::new("a").steps(0))[0],
        ("job.steps".into(), "out-of-range".into(), "0".into())
    );
    assert_eq!(compile(Topology::new("a").seed(u64::MAX))[0].0, "job.seed");
    assert_eq!(compile(Topology::new("a").masking(f64::NAN))[0].0, "data.corruption.level");
    assert_eq!(compile(Topology::new("a\n[job]"))[0].0, "job.name");
    assert_eq!(compile(Topology::new("a").mlp([]))[0].0, "model.layers");
    // A topology with NaN is not equal even to itself.
    let odd = Topology::new("a").model("mine").model_option("x", f64::NAN);
    assert!(odd.compile(&Kinds::stock().with_model("mine")).is_ok());
    let odd = read("[model]\nkind = \"mine\"\noptions = { x = nan }").unwrap();
    assert!(odd.compile(&Kinds::stock().with_model("mine")).is_ok());
    let mut loaded = read("[job]\nsteps = 5").unwrap();
    loaded.topology.job.steps = 0;
    assert_eq!(said(loaded.compile(&Kinds::stock()))[0].0, "job.steps");
}

#[test]
fn an_error_shows_the_line_the_reason_and_the_fix() {
    let error = compiled("[job]\nsteps = 0\n[model]\nlayer = [1]").unwrap_err();
    let shown = format!("{:?}", miette::Report::new(error));
    for part in
        ["2 problems", "steps = 0", "must be at least 1, found 0", "layer = [1]", "did you mean `layers`?"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
