//! Emitted scripts, run by real bash with recording stand-ins for schedulers, runtimes, engines and
//! clients: what a process receives is what the plan says, byte for byte.

mod gate;
mod hub;
pub mod judges;
mod kubernetes;
pub mod plans;
mod processes;
pub mod quoting;
mod real;
pub mod run;

use emit::Runtime;
use plans::Case;
use run::Bench;

/// Every kind of script there is.
fn kinds(workspace: &str) -> Vec<(&'static str, Case)> {
    let mut login = plans::slurm(workspace, 8888, "/squash");
    login.site.runtime = Runtime::Pyxis { squash: Some("/squash".to_owned()), import: emit::Import::Login };
    let mut making = plans::direct(workspace, 8888);
    making.plan.mounts.push(recipe::plan::Mount {
        from: "/cache".into(),
        to: "/mnt/cache".into(),
        readonly: false,
        create: true,
    });
    let mut all = vec![
        ("slurm, squash file imported on the node", plans::slurm(workspace, 8888, "/squash")),
        ("slurm, squash file imported where jobs are submitted", login),
        ("slurm, a step that allocates and pulls by itself", plans::direct(workspace, 8888)),
        ("slurm, such a step with a mount source to make", making),
        ("docker", plans::docker(workspace, 8888)),
    ];
    for (_, case) in &mut all {
        case.serve(vec![
            plans::file("config.json", b"{}", true),
            plans::file("model.safetensors", b"weights", false),
        ]);
        case.site.cache = Some("/mnt/hf_hub_cache/".to_owned());
        case.prepend(plans::download("/mnt/hf_hub_cache", None));
        case.plan
            .files
            .push(recipe::plan::File { path: "engine.yml".into(), text: "a: 1\nb: '$x'\n".into() });
    }
    all
}

#[test]
fn scripts_are_clean_for_shellcheck() {
    if !run::has("shellcheck") {
        println!("shellcheck: skipped, it is not installed");
        return;
    }
    for (name, case) in kinds("/workspace") {
        let bench = Bench::new();
        let path = bench.write("script.sh", &case.script().text);
        let ran =
            bench.plain("shellcheck").args(["--severity=style", "--shell=bash"]).arg(&path).output().unwrap();
        assert!(ran.status.success(), "{name}:\n{}", String::from_utf8_lossy(&ran.stdout));
    }
}

/// The scripts in `fixtures/emit` are there to be read; `UPDATE=1` writes them anew.
#[test]
fn scripts_look_as_they_did() {
    let mut old = Vec::new();
    for (name, file) in [("slurm, squash file imported on the node", "slurm.sh"), ("docker", "docker.sh")] {
        let (_, case) = kinds("/workspace").into_iter().find(|(kind, _)| *kind == name).unwrap();
        let path = crate::support::repository().join("fixtures/emit").join(file);
        let text = case.script().text;
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        if std::fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            old.push(file);
        }
    }
    assert!(
        old.is_empty(),
        "{old:?} would be written differently now: read `UPDATE=1 cargo test scripts_look`'s difference"
    );
}

#[test]
fn a_script_is_a_function_of_its_inputs_and_plain_ascii() {
    for (name, case) in kinds("/workspace") {
        let script = case.script();
        assert_eq!(script, case.script(), "{name}");
        assert!(script.text.is_ascii() && !script.text.contains('\r'), "{name}");
        assert_eq!(script.sha256, lock::Digest::of(script.text.as_bytes()));
        assert_eq!(script.path, "example-recipe/example-target/throughput/3.sh");
    }
}

#[test]
fn the_image_is_asked_for_by_digest_in_the_spelling_of_its_runtime() {
    let digest = lock::Digest::of(b"the manifest");
    let hex = digest.hex();
    let texts: Vec<(&str, String)> =
        kinds("/workspace").into_iter().map(|(name, case)| (name, case.script().text)).collect();
    for (name, text) in &texts {
        let wanted = if *name == "docker" {
            format!("image_reference=example/engine@sha256:{hex}\n")
        } else {
            format!("image_reference='docker://registry-1.docker.io#example/engine:sha256:{hex}'\n")
        };
        assert!(text.contains(&wanted), "{name}");
        // The tag stands in the evidence, as what was wanted, and nowhere else.
        assert_eq!(text.matches("example/engine:v1").count(), 1, "{name}");
    }
    assert!(texts[0].1.contains(&format!("squash=/squash/example_engine_sha256_{hex}.sqsh\n")));
    assert!(
        texts[2].1.contains(&format!("'--container-image=registry-1.docker.io#example/engine:sha256:{hex}'"))
    );
}

#[test]
fn what_no_script_can_say_is_refused_all_at_once() {
    let mut case = plans::slurm("/workspace", 8888, "/squash");
    case.serve(vec![plans::file("../escape", b"x", false)]);
    case.site.staged.insert(plans::REPOSITORY.to_owned(), "/models/tiny".to_owned());
    case.server().argv.push("a\0b".into());
    case.server().env.insert("NOT-A-NAME".to_owned(), "1".into());
    case.client().argv[0] = "a=b".into();
    case.plan.pools[0].nodes = 2;
    let found = case.try_script().unwrap_err();
    let mut slugs: Vec<&str> = found.iter().map(|finding| finding.slug.as_str()).collect();
    slugs.sort_unstable();
    assert_eq!(slugs, ["script-text", "script-text", "script-text", "script-topology", "unsafe-path"]);

    let mut case = plans::slurm("/workspace", 8888, "/squash");
    case.lock.pins.clear();
    let found = case.try_script().unwrap_err();
    assert_eq!(found.iter().map(|finding| finding.slug.as_str()).collect::<Vec<_>>(), ["lock-unpinned"]);

    let mut case = plans::slurm("/workspace", 8888, "/squash");
    case.site.platform = "linux/arm64".to_owned();
    let found = case.try_script().unwrap_err();
    assert_eq!(found.iter().map(|finding| finding.slug.as_str()).collect::<Vec<_>>(), ["platform-missing"]);
}

#[test]
fn a_lock_of_another_plan_is_refused() {
    let mut case = plans::slurm("/workspace", 8888, "/squash");
    let pins = case.lock.pins.clone();
    case.lock = lock::build("example-recipe", &[case.plan.clone()], pins, engine::known::Known::default());
    case.script();
    case.server().argv.push("--another".into());
    let found = case.try_script().unwrap_err();
    assert_eq!(found.iter().map(|finding| finding.slug.as_str()).collect::<Vec<_>>(), ["lock-stale"]);
}
