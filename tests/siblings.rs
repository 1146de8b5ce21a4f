//! Two recipes beside each other.

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn two_recipes_are_compared_at_every_point_of_both_and_on_the_same_targets() {
    let sandbox = Sandbox::with("fixtures/tour");
    let text = sandbox.read("manifests/tiny.nix");
    // A sibling that sweeps other points, gives one flag another value and names its results otherwise.
    let sibling = text
        .replace("tiny-fp4-b200-vllm", "tiny-fp4-b200-vllm-deep")
        .replace("prefix = \"tiny\"", "prefix = \"deep\"")
        .replace("max-num-seqs = conc", "max-num-seqs = if conc > 16 then 64 else conc");
    let sibling = sibling.replacen("conc = [", "conc = [ 1", 1).replacen("16\n", "16 32\n", 1);
    sandbox.write("manifests/deep.nix", sibling);
    let diff = |more: &[&str], code: i32| {
        let operands = ["diff", "tiny-fp4-b200-vllm", "tiny-fp4-b200-vllm-deep", "--format", "json"];
        sandbox.recipec([&operands[..], more].concat()).exits(code).json()
    };
    let document = diff(&[], 0);
    let paths: Vec<&str> = document["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["points", "server.--max-num-seqs"], "{document}");
    let change = &document["changes"][1];
    assert_eq!((&change["old"], &change["new"]), (&json!("32"), &json!("64")));
    diff(&["--exit-code"], 3);
    diff(&["--exit-code", "--except", "points"], 3);
    diff(&["--exit-code", "--except", "points", "--except", "server.--max-*"], 0);
}
