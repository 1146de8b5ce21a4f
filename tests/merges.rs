//! Locks through git, with git itself: what merges alone, what the driver merges, what a person must
//! decide, and how `recipec lock` repairs what is left.

use crate::support::{Ran, Sandbox, copy_tree, repository};

const LOCK: &str = "lockfiles/tiny/tiny-fp4-b200-vllm.lock.json";
/// The lines of the documentation that set the driver up.
const CONFIG: &str = "git config merge.recipec.driver 'recipec merge-driver %O %A %B %P'";
const ATTRIBUTES: &str = "lockfiles/**/*.lock.json merge=recipec";

/// A repository with the tour's recipe, locked.
fn locked() -> Sandbox {
    let sandbox = Sandbox::with("fixtures/tour");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    sandbox.recipec(["lock", "--mirror", "mirror"]).exits(0);
    sandbox.write(".gitattributes", format!("{ATTRIBUTES}\n"));
    sandbox.write(".gitignore", "mirror\n");
    sandbox
        .bash(
            "set -e
            git init -q -b main . && git config user.name me && git config user.email me@example.org
            git add . && git commit -qm start",
        )
        .exits(0);
    sandbox
}

/// Commits what `change` does, and the lock of it, on a branch of its own.
fn branch(sandbox: &Sandbox, name: &str, change: &str) {
    sandbox
        .bash(&format!(
            "set -e
            git checkout -q -b {name} main
            {change}
            recipec lock --mirror mirror
            git add . && git commit -qm {name}
            git checkout -q main"
        ))
        .exits(0);
}

/// Merges both branches into main.
fn merge(sandbox: &Sandbox) -> Ran {
    sandbox.bash("git merge -q --no-edit one && git merge --no-edit two 2>&1")
}

#[test]
fn recipes_that_two_pull_requests_add_merge_without_a_driver() {
    let sandbox = locked();
    for (name, key) in [("one", "tiny-fp4-b200-vllm-a"), ("two", "tiny-fp4-b200-vllm-b")] {
        branch(
            &sandbox,
            name,
            &format!("recipec new {key} --from tiny-fp4-b200-vllm --change engineVersion=0.25.0"),
        );
    }
    merge(&sandbox).exits(0);
    let checked = sandbox.recipec(["lock", "--check"]).exits(0);
    assert_eq!(checked.stdout, "nothing differs in 3 recipes\n");
}

/// One changes what is started, the other only what is pinned, on lines that are far apart.
const BEHAVIOUR: &str = "sed -i 's/max-num-seqs = conc/max-num-seqs = 2 * conc/' manifests/tiny.nix";
const PINS: &str = "sed -i '/\"taxonomy.yaml\"/d' manifests/tiny.nix";
const OTHER: &str = "sed -i 's/max-num-seqs = conc/max-num-seqs = 3 * conc/' manifests/tiny.nix";

#[test]
fn the_driver_merges_a_pin_and_a_change_of_behaviour_and_git_alone_does_not() {
    let sandbox = locked();
    branch(&sandbox, "one", BEHAVIOUR);
    branch(&sandbox, "two", PINS);
    let refused = merge(&sandbox);
    assert_ne!(refused.code, 0, "the seal is one line: {refused:?}");
    sandbox.bash(&format!("git merge --abort && git reset -q --hard HEAD~1 && {CONFIG}")).exits(0);
    merge(&sandbox).exits(0);
    sandbox.recipec(["lock", "--check"]).exits(0);
}

#[test]
fn git_alone_leaves_markers_and_lock_repairs_them() {
    let sandbox = locked();
    branch(&sandbox, "one", BEHAVIOUR);
    branch(&sandbox, "two", PINS);
    merge(&sandbox).exits(1);
    let checked = sandbox.recipec(["lock", "--check"]).exits(3);
    assert!(checked.stderr.contains("lock-conflict"), "{checked:?}");
    // All pins are there, so nothing has to be asked.
    sandbox.recipec(["lock", "--offline"]).exits(0);
    sandbox.recipec(["lock", "--check"]).exits(0);
    let text = sandbox.read(LOCK);
    assert!(
        !text.contains("<<<<<<<") && !text.contains("taxonomy") && text.contains("max-num-seqs"),
        "{text}"
    );
}

#[test]
fn two_that_touch_the_same_leave_a_conflict_that_a_person_can_read() {
    let sandbox = locked();
    sandbox.bash(CONFIG).exits(0);
    branch(&sandbox, "one", BEHAVIOUR);
    branch(&sandbox, "two", OTHER);
    let merged = merge(&sandbox).exits(1);
    assert!(merged.stdout.contains(&format!("CONFLICT (content): Merge conflict in {LOCK}")), "{merged:?}");
    assert!(
        merged.stdout.contains("error[lock-conflict]") && merged.stdout.contains("run `recipec lock`"),
        "{merged:?}"
    );
    let text = sandbox.read(LOCK);
    let between =
        text.split("<<<<<<< ours\n").nth(1).and_then(|rest| rest.split("\n>>>>>>> theirs").next()).unwrap();
    let side = |four: &str, sixteen: &str| {
        format!("        \"--max-num-seqs\": {{ \"conc=4\": \"{four}\", \"conc=16\": \"{sixteen}\" }},\n")
    };
    let expected = format!("{}=======\n{}", side("8", "32"), side("12", "48").trim_end());
    assert_eq!(between, expected, "{text}");
    assert_eq!(text.matches("<<<<<<<").count(), 1, "{text}");
    // The manifest decides, and the lock follows.
    sandbox.bash("git checkout -q --theirs manifests/tiny.nix").exits(0);
    sandbox.recipec(["lock", "--offline"]).exits(0);
    sandbox.recipec(["lock", "--check"]).exits(0);
    sandbox.bash("git add . && git commit -qm merged && git diff --quiet two -- lockfiles").exits(0);
}

#[test]
fn the_driver_ends_with_1_for_a_conflict_and_seals_nothing_that_was_edited() {
    let sandbox = locked();
    sandbox
        .bash(&format!("cp {LOCK} base; cp {LOCK} ours; sed s/max-num-seqs/max-num-sequences/ base > theirs"))
        .exits(0);
    let ran = sandbox.recipec(["merge-driver", "base", "ours", "theirs", LOCK]).exits(1);
    assert!(ran.stderr.contains("error[lock-edited]") && ran.stderr.contains(LOCK), "{ran:?}");
    assert!(sandbox.read("ours").contains("<<<<<<< ours\n"));
    // What is not there is said, and the file of our side stays as it is.
    sandbox.bash("cp base ours").exits(0);
    sandbox.recipec(["merge-driver", "base", "ours", "gone", LOCK]).exits(5);
    assert_eq!(sandbox.read("ours"), sandbox.read("base"));
    let same = sandbox.recipec(["merge-driver", "base", "ours", "base", "--format", "json"]).exits(0).json();
    assert_eq!(
        (same["command"].as_str(), same["conflicts"].as_array().map(Vec::len)),
        (Some("merge-driver"), Some(0))
    );
    assert_eq!(sandbox.read("ours"), sandbox.read("base"));
}

#[test]
fn a_path_that_is_a_command_is_only_a_path() {
    let sandbox = locked();
    sandbox.bash(CONFIG).exits(0);
    let folder = "manifests/a b';touch hit;$(touch hit)";
    sandbox.bash(&format!("mkdir -p \"{}\" && git mv manifests/tiny.nix \"{0}/\" && git rm -qr lockfiles/tiny && sed -i 's#[.]/#../#' \"{0}\"/*.nix && recipec lock --mirror mirror && git add . && git commit -qm moved", folder.replace('$', "\\$"))).exits(0);
    let edit = |change: &str| change.replace("manifests/tiny.nix", "manifests/a*/tiny.nix");
    branch(&sandbox, "one", &edit(BEHAVIOUR));
    branch(&sandbox, "two", &edit(PINS));
    merge(&sandbox).exits(0);
    sandbox.recipec(["lock", "--check"]).exits(0);
    assert!(!sandbox.path("hit").exists());
}

#[test]
fn the_lines_that_set_the_driver_up_are_documented() {
    let text = std::fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(text.contains(CONFIG) && text.contains(ATTRIBUTES));
    let own = std::fs::read_to_string(repository().join(".gitattributes")).unwrap();
    assert!(own.lines().any(|line| line == ATTRIBUTES));
}
