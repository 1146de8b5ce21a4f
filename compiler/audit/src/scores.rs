//! Scores of evaluations and the least that they must be.

use std::collections::BTreeMap;

use serde_json::Value;

/// The least scores, from the most special to the most general.
#[derive(Clone, PartialEq, Debug)]
pub struct Thresholds {
    /// Whence they are.
    pub source: String,
    models: BTreeMap<String, BTreeMap<String, f64>>,
    tasks: BTreeMap<String, f64>,
    fallback: f64,
}

impl Thresholds {
    /// Reads thresholds: `{"source", "default": {task: least}, "models": {prefix: {task: least}},
    /// "fallback": least}`.
    ///
    /// # Errors
    /// If the text is something else.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let table = |value: &Value| -> Result<BTreeMap<String, f64>, String> {
            let map = value.as_object().ok_or("not a map of tasks")?;
            map.iter()
                .map(|(task, least)| {
                    let least = least.as_f64().filter(|least| (0.0..=1.0).contains(least));
                    Ok((task.clone(), least.ok_or_else(|| format!("`{task}` has no least score"))?))
                })
                .collect()
        };
        let empty = Value::Object(serde_json::Map::new());
        let models = value.get("models").unwrap_or(&empty).as_object().ok_or("`models` is no map")?;
        Ok(Self {
            source: value.get("source").and_then(Value::as_str).unwrap_or("the policy").to_owned(),
            models: models
                .iter()
                .map(|(model, tasks)| Ok((model.clone(), table(tasks)?)))
                .collect::<Result<_, String>>()?,
            tasks: table(value.get("default").unwrap_or(&empty))?,
            fallback: value.get("fallback").and_then(Value::as_f64).ok_or("no `fallback`")?,
        })
    }

    /// Returns the least score of a task, and which rule says so.
    #[must_use]
    pub fn least(&self, model: Option<&str>, task: &str) -> (f64, &'static str) {
        let special = model.and_then(|model| self.models.get(model)?.get(task));
        match (special, self.tasks.get(task)) {
            (Some(least), _) => (*least, "of the model"),
            (None, Some(least)) => (*least, "of the task"),
            (None, None) => (self.fallback, "of any task"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Thresholds;

    #[test]
    fn the_most_special_threshold_holds() {
        let text = r#"{"default": {"gsm8k": 0.9}, "models": {"m": {"gsm8k": 0.94}}, "fallback": 0.85}"#;
        let least = Thresholds::read(text).expect("well formed");
        assert_eq!(least.least(Some("m"), "gsm8k").0, 0.94);
        assert_eq!(least.least(Some("n"), "gsm8k").0, 0.9);
        assert_eq!(least.least(None, "other").0, 0.85);
        assert!(Thresholds::read(r#"{"default": {"a": 2}, "fallback": 1}"#).is_err());
        assert!(Thresholds::read("{}").is_err());
    }
}
