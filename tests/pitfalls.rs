//! What servers do to those who pin, and which test holds each case: the records of the failure corpus
//! that are of the stage `lock`, and the pitfalls of registries and forges that were measured.
//!
//! A record is answered by a slug, whose page names it and whose examples are run, or by tests of a
//! property that no slug has. Both are checked here to exist; what they say is theirs.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{files, repository, shared};

/// By record: its slug, if one answers it, and tests that hold it.
const RECORDS: &[(&str, Option<&str>, &[&str])] = &[
    ("F041", Some("checkpoint-not-found"), &["who_may_not_see_a_checkpoint_learns_why"]),
    ("F042", Some("checkpoint-not-found"), &["who_may_not_see_a_checkpoint_learns_why"]),
    (
        "F043",
        Some("superseded-checkpoint"),
        &["a_successor_that_the_card_names_is_told_and_the_old_one_is_pinned"],
    ),
    ("F045", Some("ambiguous-weights"), &["what_is_odd_about_a_checkpoint_is_said_and_it_is_still_pinned"]),
    ("F057", Some("digest-mismatch"), &["a_multi_platform_image_has_the_digests_that_skopeo_sees"]),
    ("F058", None, &["a_branch_that_moves_changes_no_lock_until_it_is_named"]),
    ("F059", Some("tag-moved"), &["a_tag_beside_a_digest_is_compared_and_the_digest_wins"]),
    ("F060", Some("tag-not-found"), &["what_is_not_there_is_told_apart_with_tags_like_it"]),
    ("F061", Some("short-lived-tag"), &[]),
    ("F063", Some("repository-not-found"), &["what_is_not_there_is_told_apart_with_tags_like_it"]),
    ("F065", Some("tag-not-found"), &["what_is_not_there_is_told_apart_with_tags_like_it"]),
    ("F067", Some("platform-missing"), &["an_image_for_one_platform_is_no_image_for_another"]),
    ("F070", Some("mutable-tag"), &[]),
    ("F071", Some("tag-moved"), &["a_tag_beside_a_digest_is_compared_and_the_digest_wins"]),
    ("F072", Some("digest-gone"), &["what_is_not_there_is_told_apart_with_tags_like_it"]),
    ("F075", Some("tag-not-found"), &["what_is_not_there_is_told_apart_with_tags_like_it"]),
    ("F076", Some("mutable-tag"), &["a_multi_platform_image_has_the_digests_that_skopeo_sees"]),
    ("F079", Some("mutable-tag"), &[]),
    ("F081", Some("case-collision"), &["a_tree_that_cannot_be_unpacked_everywhere_is_refused"]),
    ("F086", Some("digest-mismatch"), &["a_registry_whose_storage_was_changed_is_not_believed"]),
    // A harness that a recipe names is pinned, and a move of it is told before all else.
    ("F087", None, &["a_client_that_moves_is_said_to_change_results"]),
    // What is cached is content by digest; where a name points is asked each time.
    ("F192", None, &["a_cache_is_never_asked_where_a_tag_points", "a_warm_lock_looks_and_does_not_fetch"]),
    // One file a recipe, so that there is nothing to merge.
    ("F195", None, &["recipes_that_two_pull_requests_add_merge_without_a_driver"]),
    ("F196", Some("lock-stale"), &["the_action_passes_on_a_good_root_and_annotates_a_bad_one"]),
    ("F199", Some("lock-unreadable"), &["a_key_that_stands_twice_is_refused_with_its_place"]),
];

/// Records that nothing here answers, and why.
const OPEN: &[(&str, &str)] = &[
    ("F138", "which GPUs an image has kernels for stands in no manifest, index or label that is standard"),
    ("F213", "verify reads the locked commit; what the page says at HEAD is not set beside it"),
];

/// By pitfall: tests that hold it.
const PITFALLS: &[(&str, &[&str])] = &[
    // A tag that moved, with its digest still served.
    (
        "I1",
        &["a_tag_beside_a_digest_is_compared_and_the_digest_wins", "a_moved_tag_may_run_the_same_content"],
    ),
    // A tag or a digest that is gone.
    ("I2", &["what_is_not_there_is_told_apart_with_tags_like_it"]),
    // An index whose part is gone.
    ("I3", &["a_part_that_a_cleanup_deleted_is_reported_where_a_target_needs_it"]),
    // A body that is not what its header says.
    ("I4", &["a_registry_whose_storage_was_changed_is_not_believed", "a_digest_in_a_header_is_a_claim"]),
    // An image of another platform.
    ("I5", &["an_image_for_one_platform_is_no_image_for_another"]),
    // A short Accept changes the digest.
    (
        "I6",
        &[
            "every_request_names_all_four_media_types",
            "a_docker_manifest_list_is_pinned_as_itself_and_not_as_its_first_child",
        ],
    ),
    // Missing, private, refused, limited.
    ("I7", &["a_login_comes_from_dockers_file_and_is_never_shown", "statuses_are_told_apart"]),
    // Spellings, and what each runtime parses.
    ("I8", &["every_spelling_of_one_image_means_the_same", "each_runtime_gets_the_spelling_it_can_parse"]),
    // An invented tag.
    ("I9", &["what_is_not_there_is_told_apart_with_tags_like_it", "tags_like_the_missing_one_are_offered"]),
    // A commit that only a fork has.
    (
        "G1",
        &["a_commit_that_only_a_fork_has_is_not_upstream", "a_strangers_commit_in_a_clone_is_not_upstream"],
    ),
    // A pull request that was closed.
    ("G2", &["a_merge_is_believed_for_its_time_and_not_for_its_commit"]),
    // A file that is another or not there.
    ("G3", &["a_file_is_pinned_by_the_bytes_that_its_blob_names", "what_is_missing_is_told_apart"]),
    // A limit that looks like a refusal.
    ("G4", &["a_limit_is_no_missing_file"]),
];

#[test]
fn every_test_that_is_named_exists() {
    let mut sources = files(&repository().join("tests"), ".rs");
    sources.extend(files(&repository().join("compiler"), ".rs"));
    let text: String = sources.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let named =
        RECORDS.iter().flat_map(|(_, _, tests)| *tests).chain(PITFALLS.iter().flat_map(|(_, tests)| *tests));
    for test in named {
        assert!(
            text.contains(&format!("#[test]\nfn {test}()"))
                || text.contains(&format!("#[test]\n    fn {test}()")),
            "{test}"
        );
    }
}

#[test]
fn every_slug_that_answers_a_record_says_so_on_its_page() {
    for (record, slug, tests) in RECORDS {
        let Some(slug) = slug else {
            assert!(!tests.is_empty(), "{record} is answered by nothing");
            continue;
        };
        let page = diag::page(slug).unwrap_or_else(|| panic!("{slug} has a page"));
        let covers = page.explanation().unwrap().covers;
        assert!(covers.iter().any(|covered| covered == record), "the page of {slug} names {record}");
    }
}

#[test]
fn no_record_of_the_stage_is_left_out() {
    let Some(shared) = shared("no_record_of_the_stage_is_left_out") else { return };
    let text = fs::read_to_string(shared.join("failures.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for id in RECORDS.iter().map(|(id, ..)| *id).chain(OPEN.iter().map(|(id, _)| *id)) {
        *told.entry(id).or_default() += 1;
    }
    let records = all["records"].as_array().unwrap().iter();
    let of_stage: Vec<&str> = records
        .filter(|record| record["stage"] == "lock")
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(told.keys().copied().collect::<Vec<_>>(), of_stage);
    assert!(told.values().all(|count| *count == 1), "{told:?}");
    for (id, why) in OPEN {
        println!("{id} is open: {why}");
    }
}
