//! Which recipe of a file runs: a file is one recipe, or a base with overrides.

use diag::{Diagnostic, slugs};

use crate::tree::{Field, Node, Tree};

const OVERRIDE: &str = "override_";
const ZIP: &str = "zip_override_";

/// Most variants that a file may give.
const MOST: usize = 10_000;

/// Returns the recipes that a selector takes from a file, each with the name of its variant: all
/// overrides without one, else `base`, the name of an override, or one place of a zipped one
/// (`zip_override_x[2]`).
///
/// # Errors
/// With what is wrong with the file or the selector.
pub fn select(file: &Tree, selector: Option<&str>) -> Result<Vec<(String, Tree)>, Diagnostic> {
    let Some(base) = file.get("base") else {
        return match selector {
            None => Ok(vec![(String::new(), file.clone())]),
            Some(selector) => {
                Err(problem(file, format!("`{selector}` selects nothing: the file has no `base`")))
            }
        };
    };
    let Node::Set(fields) = &file.node else { return Ok(Vec::new()) };
    let names =
        || fields.iter().filter(|field| field.name.starts_with(OVERRIDE) || field.name.starts_with(ZIP));
    let known = || {
        let mut all: Vec<&str> = names().map(|field| &*field.name).collect();
        all.insert(0, "base");
        format!("the file has {}", all.join(", "))
    };
    match selector {
        Some("base") => Ok(vec![("base".to_owned(), base.value.clone())]),
        None => {
            let (zipped, plain): (Vec<_>, Vec<_>) = names().partition(|field| field.name.starts_with(ZIP));
            let mut all = Vec::new();
            for field in plain.into_iter().chain(zipped) {
                all.extend(variants(&base.value, field)?);
            }
            Ok(all)
        }
        Some(selector) => {
            let (name, place) = match selector.strip_suffix(']').and_then(|text| text.split_once('[')) {
                Some((name, place)) => (name, Some(place)),
                None => (selector, None),
            };
            let field = names()
                .find(|field| *field.name == *name)
                .ok_or_else(|| problem(file, format!("the file has no `{name}`")).help(known()))?;
            let mut all = variants(&base.value, field)?;
            let Some(place) = place else { return Ok(all) };
            match place.parse::<usize>() {
                Ok(index) if index < all.len() => Ok(vec![all.swap_remove(index)]),
                _ => Err(problem(&field.value, format!("`{selector}` is beyond the {} variants", all.len()))),
            }
        }
    }
}

fn problem(tree: &Tree, message: String) -> Diagnostic {
    let mut finding = Diagnostic::error(slugs::recipe::VARIANT_NOT_FOUND, message);
    finding.span = tree.at;
    finding
}

fn variants(base: &Tree, field: &Field) -> Result<Vec<(String, Tree)>, Diagnostic> {
    let name = base.get("name").and_then(|field| field.value.as_text()).unwrap_or("unnamed");
    if let Some(group) = field.name.strip_prefix(ZIP) {
        let count = length(&field.value)?;
        let named = field.value.get("name").is_some_and(|field| matches!(field.value.node, Node::List(_)));
        return Ok((0..count)
            .map(|index| {
                let mut merged = merge(base, &slice(&field.value, index));
                if !named {
                    put(&mut merged, "name", Tree::from(format!("{name}_{group}_{index}").as_str()));
                }
                (format!("{}[{index}]", field.name), merged)
            })
            .collect());
    }
    let group = field.name.strip_prefix(OVERRIDE).unwrap_or(&field.name);
    let mut merged = merge(base, &field.value);
    if field.value.get("name").is_none() {
        put(&mut merged, "name", Tree::from(format!("{name}_{group}").as_str()));
    }
    Ok(vec![(field.name.to_string(), merged)])
}

fn put(tree: &mut Tree, name: &str, value: Tree) {
    let Node::Set(fields) = &mut tree.node else { return };
    match fields.binary_search_by(|field| (*field.name).cmp(name)) {
        Ok(index) => fields[index].value = value,
        Err(index) => {
            fields.insert(index, Field { name: name.into(), name_at: None, overrides: None, value });
        }
    }
}

/// Sets are merged, `null` takes away, and all else takes the place of what was there.
fn merge(base: &Tree, over: &Tree) -> Tree {
    let (Node::Set(_), Node::Set(fields)) = (&base.node, &over.node) else { return over.clone() };
    let mut merged = base.clone();
    for field in fields {
        if field.value.is_null() {
            if let Node::Set(fields) = &mut merged.node {
                fields.retain(|own| own.name != field.name);
            }
            continue;
        }
        let value = match merged.get(&field.name) {
            Some(own)
                if matches!(field.value.node, Node::Set(_)) && matches!(own.value.node, Node::Set(_)) =>
            {
                merge(&own.value, &field.value)
            }
            _ => field.value.clone(),
        };
        put(&mut merged, &field.name, value);
    }
    merged
}

/// Returns how many variants a zipped override gives: the length of its lists, which must agree;
/// a list of one stands for all.
fn length(tree: &Tree) -> Result<usize, Diagnostic> {
    fn lengths(tree: &Tree, to: &mut Vec<usize>) {
        match &tree.node {
            Node::List(items) => to.push(items.len()),
            Node::Set(fields) => fields.iter().for_each(|field| lengths(&field.value, to)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    lengths(tree, &mut all);
    if all.is_empty() || all.contains(&0) {
        return Err(problem(tree, "nothing to zip: a list is empty, or there is none".to_owned()));
    }
    all.retain(|&length| length != 1);
    all.sort_unstable();
    all.dedup();
    match all[..] {
        [] => Ok(1),
        [length] if length <= MOST => Ok(length),
        [length] => Err(problem(tree, format!("{length} variants are more than {MOST}"))),
        _ => {
            let lengths: Vec<String> = all.iter().map(ToString::to_string).collect();
            Err(problem(tree, format!("lists of {} values cannot be zipped", lengths.join(" and "))))
        }
    }
}

fn slice(tree: &Tree, index: usize) -> Tree {
    match &tree.node {
        Node::List(items) => items.get(if items.len() == 1 { 0 } else { index }).unwrap_or(tree).clone(),
        Node::Set(fields) => {
            let fields =
                fields.iter().map(|field| Field { value: slice(&field.value, index), ..field.clone() });
            Tree { at: tree.at, node: Node::Set(fields.collect()) }
        }
        _ => tree.clone(),
    }
}
