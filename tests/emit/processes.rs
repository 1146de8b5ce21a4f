//! What processes receive, in which order they run, and what is left of them.

use std::process::Stdio;

use recipe::plan::{File, Hole, Mode, Ready, Role, Word};

use super::plans::{self, Case, group, word, words};
use super::quoting::Hostile;
use super::run::{Bench, Call, port, ports, said};

/// Returns the environment as the plan declares it, beside what a process needs.
fn declared(call: &Call, bench: &Bench) -> Vec<String> {
    let home = format!("HOME={}", bench.text("home"));
    let mut rest: Vec<String> =
        call.env.iter().filter(|pair| !pair.starts_with("PATH=") && **pair != home).cloned().collect();
    rest.sort();
    rest
}

fn on_slurm(bench: &Bench, port: u16) -> Case {
    plans::slurm(&bench.text("workspace"), port, &bench.text("squash"))
}

/// Makes a command's environment as dirty as a login shell with modules loaded.
fn dirty(command: &mut std::process::Command) -> &mut std::process::Command {
    command
        .env("SGLANG_SIMULATE_ACC_LEN", "3.24")
        .env("LD_PRELOAD", "")
        .env("PYTHONPATH", "/opt/modules/python")
        .env("CUDA_HOME", "/usr/local/cuda-12.2")
        .env("ENGINE_MODE", "slow")
        .env("HF_TOKEN", "hf_secret")
}

#[test]
fn processes_receive_what_the_plan_says_and_nothing_of_the_host() {
    let bench = Bench::with_stubs();
    let port = port();
    let mut case = on_slurm(&bench, port);
    case.server().argv.push(word("--log-dir=", Hole::LogDir, "/engine"));
    case.server().argv.push(word("--run=", Hole::JobPort { base: 40000, modulus: 10000 }, ""));
    case.server().env.insert("NODE".to_owned(), Word::hole(Hole::Host { node: (0, 0) }));
    case.client().argv.push(word("--result-filename=x_", Hole::Runner, ".json"));
    case.plan.files.push(File { path: "engine.yml".into(), text: "a: 'b'\n\n  c: $d\nend".into() });
    let script = case.script();
    let output = dirty(&mut bench.command(&script.text)).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));

    let [engine] = &bench.calls("engine")[..] else { panic!("{}", said(&output)) };
    let workspace = bench.text("workspace");
    let log_dir = format!("--log-dir={workspace}/engine");
    assert_eq!(engine.argv, ["engine", "--port", &port.to_string(), &log_dir, "--run=44242"]);
    assert_eq!(declared(engine, &bench), ["ENGINE_MODE=fast", "HF_TOKEN=hf_secret", "NODE=node-7"]);
    let [client] = &bench.calls("client")[..] else { panic!("{}", said(&output)) };
    let url = format!("http://127.0.0.1:{port}");
    let result = format!("result={workspace}/result.json");
    assert_eq!(client.argv, ["client", "--url", &url, &result, "--result-filename=x_example-target_00.json"]);
    assert_eq!(declared(client, &bench), ["HF_TOKEN=hf_secret"]);
    assert_eq!(
        std::fs::read_to_string(bench.path("workspace/engine.yml")).unwrap(),
        "a: 'b'\n\n  c: $d\nend"
    );

    // The scheduler received the plan's commands, with the image by digest and bash as the entry.
    let [salloc] = &bench.calls("salloc")[..] else { panic!() };
    assert_eq!(
        salloc.argv[1..],
        ["--partition=gpu", "--gres=gpu:4", "--time=180", "--no-shell", "--job-name=example-target_00"]
    );
    let calls = bench.calls("srun");
    let [node, container] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(
        node.argv[1..9],
        ["--jobid=4242", "--nodes=1", "--ntasks=1", "--mpi=none", "bash", "-s", "--", "node"]
    );
    let hex = lock::Digest::of(b"the manifest");
    let squash =
        format!("--container-image={}/example_engine_sha256_{}.sqsh", bench.text("squash"), hex.hex());
    let mounts = format!("--container-mounts={workspace}:{workspace}");
    let workdir = format!("--container-workdir={workspace}");
    let export = format!("--export=PORT={port},HF_TOKEN");
    assert_eq!(
        container.argv[1..13],
        [
            "--jobid=4242",
            &squash,
            &mounts,
            "--no-container-mount-home",
            &workdir,
            "--no-container-entrypoint",
            &export,
            "bash",
            "-s",
            "--",
            "inside",
            "hole_runner=example-target_00"
        ]
    );
    assert_eq!(bench.calls("scancel").len(), 1);
    bench.nothing_runs();

    // The evidence says the same, secrets by name only.
    let evidence = bench.evidence();
    assert_eq!(evidence["exit"], 0);
    assert_eq!(evidence["plan"], lock::fingerprint(&case.plan).plan.to_string());
    assert_eq!(evidence["script"], script.sha256.to_string());
    assert_eq!(evidence["node"], "node-7");
    assert_eq!(evidence["scheduler_job"], "4242");
    let processes = evidence["processes"].as_array().unwrap();
    assert_eq!(processes.iter().map(|process| &process["kind"]).collect::<Vec<_>>(), ["server", "client"]);
    assert_eq!(processes[0]["argv"], serde_json::json!(engine.argv));
    assert_eq!(processes[0]["env"], serde_json::json!({ "ENGINE_MODE": "fast", "NODE": "node-7" }));
    assert_eq!(processes[0]["secrets"], serde_json::json!(["HF_TOKEN"]));
    assert!(!evidence.to_string().contains("hf_secret"));
    let digest = lock::Digest::of(b"{\"measured\": true}\n");
    let results = evidence["results"].as_array().unwrap();
    assert!(
        results.contains(&serde_json::json!({ "path": "result.json", "sha256": digest.hex() })),
        "{results:?}"
    );
}

#[test]
fn any_text_of_a_manifest_reaches_its_process_unchanged() {
    let bench = Bench::with_stubs();
    let port = port();
    let mut case = on_slurm(&bench, port);
    let mut hostile = Hostile::new(7);
    let texts: Vec<String> = (0..400).map(|_| hostile.text()).collect();
    case.server().argv.extend(texts.iter().map(|text| Word::from(text.as_str())));
    for (number, text) in texts.iter().enumerate() {
        case.server().env.insert(format!("V{number}"), Word::from(text.as_str()));
        case.client().argv.push(word(text, Hole::Job, text));
        case.plan
            .files
            .push(File { path: format!("files/{number}").into(), text: Word::from(text.as_str()) });
    }
    let output = bench.run(&case.script().text);
    assert!(output.status.success(), "{}", said(&output));
    let engine = &bench.calls("engine")[0];
    assert_eq!(engine.argv[3..], texts);
    for (number, text) in texts.iter().enumerate() {
        assert!(engine.env.contains(&format!("V{number}={text}")), "{text:?}");
        assert_eq!(std::fs::read_to_string(bench.path(&format!("workspace/files/{number}"))).unwrap(), *text);
    }
    let client: Vec<String> = texts.iter().map(|text| format!("{text}4242{text}")).collect();
    assert_eq!(bench.calls("client")[0].argv[4..], client);
    assert!(!bench.path("workspace/pwned").exists());
    // The evidence is JSON whatever the texts are, and says them unchanged.
    assert_eq!(bench.evidence()["processes"][0]["argv"], serde_json::json!(engine.argv));
}

#[test]
fn a_secret_is_in_the_environment_of_a_process_and_on_no_command_line() {
    let bench = Bench::with_stubs();
    let lines = bench.text("record/env-argv");
    bench
        .program("env", &format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{lines}'\nexec /usr/bin/env \"$@\"\n"));
    let script = on_slurm(&bench, port()).script();
    let output = dirty(&mut bench.command(&script.text)).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let [engine] = &bench.calls("engine")[..] else { panic!("{}", said(&output)) };
    assert!(engine.env.contains(&"HF_TOKEN=hf_secret".to_owned()), "{:?}", engine.env);
    let lines = std::fs::read_to_string(lines).unwrap();
    assert!(lines.contains("ENGINE_MODE=fast") && !lines.contains("hf_secret"), "{lines}");
}

#[test]
fn a_router_stands_between_the_engine_and_its_clients_and_stores_stand_before_it() {
    let bench = Bench::with_stubs();
    for name in ["router", "store"] {
        std::fs::copy(bench.path("bin/engine"), bench.path("bin").join(name)).unwrap();
    }
    let first = ports(4);
    let mut case = on_slurm(&bench, first);
    let beside = |role, name: &str, port: u16, after| {
        let port = port.to_string();
        let ready = Ready::Tcp { port: Word::from(port.as_str()) };
        let mut group = group(role, name, words(&[name, "--port", &port, "serve=yes"]), &[], ready, after);
        group.critical = true;
        group
    };
    case.prepend(beside(Role::KvStore, "store", first + 2, vec![]));
    case.prepend(beside(Role::KvStore, "store", first + 1, vec![]));
    // The engine waits for both; the router for the engine; the client for all.
    case.plan.groups[2].after = vec![0, 1];
    case.plan.groups.insert(3, beside(Role::Router, "router", first + 3, vec![2]));
    case.plan.finish += 1;
    let output = bench.run(&case.script().text);
    assert!(output.status.success(), "{}", said(&output));
    let said = said(&output);
    let at = |what: &str| said.find(what).unwrap_or_else(|| panic!("no `{what}` in {said}"));
    assert!(at("store-2 started") < at("store is ready") && at("store-2 is ready") < at("server started"));
    assert!(at("server is ready") < at("router started") && at("router is ready") < at("client started"));
}

#[test]
fn the_run_stops_when_its_router_dies() {
    let bench = Bench::with_stubs();
    bench.program("router", "#!/bin/sh\nexit 7\n");
    let mut case = on_slurm(&bench, port());
    let ready = Ready::Tcp { port: Word::from(port().to_string()) };
    let mut router = group(Role::Router, "router", words(&["router"]), &[], ready, vec![0]);
    router.critical = true;
    case.plan.groups.insert(1, router);
    case.plan.finish += 1;
    let output = bench.run(&case.script().text);
    assert!(said(&output).contains("router ended with 7 before it was ready"), "{}", said(&output));
}

#[test]
fn acceptance_is_real_in_an_evaluation_even_if_the_image_says_otherwise() {
    let bench = Bench::with_stubs();
    let mut case = plans::docker(&bench.text("workspace"), port());
    case.plan.mode = Mode::Eval;
    case.server().unset.insert("FROM_IMAGE".to_owned());
    let output = dirty(&mut bench.command(&case.script().text)).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let unset = |call: &Call| !call.env.iter().any(|pair| pair.starts_with("FROM_IMAGE="));
    // The stand-in of Docker says that the image defines FROM_IMAGE: the client still has it.
    assert!(unset(&bench.calls("engine")[0]));
    assert!(!unset(&bench.calls("client")[0]));
}

#[test]
fn docker_receives_the_plans_command() {
    let bench = Bench::with_stubs();
    let port = port();
    let case = plans::docker(&bench.text("workspace"), port);
    let output = dirty(&mut bench.command(&case.script().text)).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let reference = format!("example/engine@{}", lock::Digest::of(b"the manifest"));
    let calls = bench.calls("docker");
    let runs: Vec<&Call> = calls.iter().filter(|call| call.argv[1] == "run").collect();
    let [run] = &runs[..] else { panic!("{calls:?}") };
    let workspace = bench.text("workspace");
    assert_eq!(
        run.argv[1..18],
        [
            "run",
            "--interactive",
            "--env=HF_TOKEN",
            "--rm",
            "--name=bench-example-target_00",
            "--network=host",
            "--privileged",
            "--shm-size=64m",
            "--volume",
            &format!("{workspace}:{workspace}"),
            &format!("--workdir={workspace}"),
            &format!("--env=PORT={port}"),
            "--entrypoint=/bin/bash",
            &reference,
            "-s",
            "--",
            "inside"
        ]
    );
    let engine = &bench.calls("engine")[0];
    let mut env: Vec<&str> =
        engine.env.iter().map(String::as_str).filter(|pair| !pair.starts_with("PATH=")).collect();
    env.sort_unstable();
    assert_eq!(env, ["ENGINE_MODE=fast", "FROM_IMAGE=yes", "HF_TOKEN=hf_secret", "HOME=/root"]);
    assert_eq!(bench.evidence()["image"]["seen"], format!("{reference} sha256:1111"));
    bench.nothing_runs();
}

#[test]
fn a_step_that_allocates_by_itself_runs_where_its_mount_sources_were_made() {
    let bench = Bench::with_stubs();
    let mut case = plans::direct(&bench.text("workspace"), port());
    let cache = bench.text("cache/deep");
    case.plan.mounts.push(recipe::plan::Mount {
        from: cache.as_str().into(),
        to: "/mnt/cache".into(),
        readonly: false,
        create: true,
    });
    let output = bench.run(&case.script().text);
    assert!(output.status.success(), "{}", said(&output));
    assert!(bench.path("cache/deep").is_dir());
    let calls = bench.calls("srun");
    let [node, container] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(
        node.argv[1..5],
        ["--partition=gpu", "--gres=gpu:4", "--exclusive", "--job-name=example-target_00"]
    );
    assert_eq!(node.argv[5..9], ["bash", "-s", "--", "node"]);
    assert_eq!(container.argv[1..3], ["--nodelist=node-7", "--partition=gpu"]);
    assert_eq!(bench.evidence()["scheduler_job"], "4242");
}

#[test]
fn a_missing_mount_source_is_named_before_the_container_starts() {
    let bench = Bench::with_stubs();
    let mut case = on_slurm(&bench, port());
    let path = bench.text("nowhere");
    case.plan.mounts.push(recipe::plan::Mount {
        from: path.as_str().into(),
        to: "/x".into(),
        readonly: false,
        create: false,
    });
    let output = bench.run(&case.script().text);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    assert!(said(&output).contains(&format!("mount-missing: the mount source {path} is not on this node")));
    assert_eq!(bench.calls("srun").len(), 1);
    assert_eq!(bench.calls("scancel").len(), 1);
    assert_eq!(bench.evidence()["exit"], 5);
}

#[test]
fn the_run_stops_when_the_engine_dies() {
    for die in ["0", "3"] {
        let bench = Bench::with_stubs();
        let mut case = on_slurm(&bench, port());
        // At once: before it is ready. Later: while the client runs.
        case.server().argv.push(format!("die={die}").into());
        if die == "3" {
            case.plan.groups[0].ready = Ready::Started;
        }
        case.client().argv.push("sleep=60".into());
        let output = bench.run(&case.script().text);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("stopped: process-died: server ended with 3"), "{}", said(&output));
        let evidence = bench.evidence();
        assert_eq!(evidence["stopped"], "process-died");
        assert_eq!(evidence["processes"][0]["exit"], 3);
        bench.nothing_runs();
    }
}

#[test]
fn readiness_has_a_bound_if_the_plan_says_so() {
    let bench = Bench::with_stubs();
    let port = port();
    let mut case = on_slurm(&bench, port);
    case.plan.groups[0].ready = Ready::Http { port: Word::from(port.to_string()), path: "/never".to_owned() };
    case.plan.groups[0].within = Some(2);
    let output = bench.run(&case.script().text);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("stopped: not-ready: server was not ready within 2 s"),
        "{}",
        said(&output)
    );
    assert!(bench.calls("client").is_empty());
    bench.nothing_runs();

    // A port that accepts is enough where the plan asks for no more.
    let bench = Bench::with_stubs();
    let mut case = on_slurm(&bench, port);
    case.plan.groups[0].ready = Ready::Tcp { port: Word::from(port.to_string()) };
    let output = bench.run(&case.script().text);
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_failed_client_is_the_runs_failure() {
    let bench = Bench::with_stubs();
    let mut case = on_slurm(&bench, port());
    case.client().argv.push("exit=7".into());
    let output = bench.run(&case.script().text);
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert_eq!(bench.evidence()["stopped"], "step-failed");
    bench.nothing_runs();
}

#[test]
fn steps_run_in_order_and_a_failed_one_ends_the_run_only_if_it_is_needed() {
    for needed in [false, true] {
        let bench = Bench::with_stubs();
        let mut case = on_slurm(&bench, port());
        let mut install =
            group(Role::Stage, "install", words(&["python3", "exit=9"]), &[], Ready::Ended, vec![]);
        install.critical = needed;
        case.prepend(install);
        let output = bench.run(&case.script().text);
        assert_eq!(output.status.code(), Some(if needed { 1 } else { 0 }), "{}", said(&output));
        assert_eq!(bench.calls("engine").is_empty(), needed);
    }
}

/// Returns whether this process, and so everything it starts, ignores a signal.
fn ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn a_signal_ends_everything_and_leaves_evidence() {
    for (number, signal, code) in [(15, "TERM", 143), (2, "INT", 130), (1, "HUP", 129)] {
        if ignored(number) {
            // What was ignored when bash began stays so; such is the fate of a job in the background.
            println!("SIG{signal}: skipped, it is ignored here");
            continue;
        }
        for case in ["slurm", "docker", "direct"] {
            let bench = Bench::with_stubs();
            let port = port();
            let workspace = bench.text("workspace");
            let mut made = match case {
                "slurm" => on_slurm(&bench, port),
                "direct" => plans::direct(&workspace, port),
                _ => plans::docker(&workspace, port),
            };
            made.client().argv.push("sleep=60".into());
            let mut child = bench.command(&made.script().text).stderr(Stdio::piped()).spawn().unwrap();
            bench.wait_for("record/client.0.argv", &mut child);
            let pid = child.id().to_string();
            assert!(
                bench
                    .plain("bash")
                    .args(["-c", &format!("kill -{signal} {pid}")])
                    .status()
                    .unwrap()
                    .success()
            );
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{case} {signal}: {}", said(&output));
            bench.nothing_runs();
            let evidence = bench.evidence();
            assert_eq!(evidence["processes"][1]["kind"], "client", "{case} {signal}");
            assert_ne!(evidence["exit"], 0, "{case} {signal}");
            if case == "slurm" {
                let last = bench.calls("scancel").pop().unwrap();
                assert_eq!(last.argv[1..], ["4242"]);
            }
        }
    }
}

/// A signal between the start of a process and the note of its id must not leave the process behind.
#[test]
fn a_signal_that_comes_with_the_start_of_a_process_leaves_nothing() {
    let bench = Bench::with_stubs();
    let mut case = plans::direct(&bench.text("workspace"), port());
    case.client().argv.push("sleep=60".into());
    // The moment is short, so it is drawn out.
    let note = "  process_pids+=(\"$!\")\n";
    let text = case.script().text;
    assert!(text.contains(note));
    let slow = text.replace(note, &format!("  [[ ${{argv[0]}} != client ]] || sleep 2\n{note}"));
    let mut child = bench.command(&slow).stderr(Stdio::piped()).spawn().unwrap();
    bench.wait_for("record/client.0.argv", &mut child);
    let pid = child.id().to_string();
    assert!(bench.plain("bash").args(["-c", &format!("kill -TERM {pid}")]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", said(&output));
    bench.nothing_runs();
}

#[test]
fn runs_that_start_together_import_an_image_once() {
    let bench = Bench::with_stubs();
    let script: Vec<String> = (0..4)
        .map(|number| {
            let mut case = on_slurm(&bench, port());
            case.plan.job = Some(number);
            case.script().text
        })
        .collect();
    let children: Vec<_> = script
        .iter()
        .enumerate()
        .map(|(number, script)| {
            let path = bench.write(&format!("{number}.sh"), script);
            bench
                .plain("bash")
                .arg(path)
                .env("STUB_ENROOT_SLEEP", "0.5")
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(bench.calls("enroot").len(), 1);
}

#[test]
fn a_squash_file_of_another_image_is_imported_again() {
    let bench = Bench::with_stubs();
    let case = on_slurm(&bench, port());
    let name = format!("squash/example_engine_sha256_{}.sqsh", lock::Digest::of(b"the manifest").hex());
    bench.write(&name, "# enroot-provenance: docker://registry-1.docker.io#example/engine:v1\n");
    let output = bench.run(&case.script().text);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(bench.calls("enroot").len(), 1);
    assert!(std::fs::read_to_string(bench.path(&name)).unwrap().contains(":sha256:"));
}
