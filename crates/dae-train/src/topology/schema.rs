//! The table of keys as a JSON schema, with which an editor completes and checks a topology file.

use serde_json::{Map, Value, json};

use super::document::Topology;
use super::key::{Key, LAYERS, MOST_NAMES, Rule, WIDTHS};
use super::sections::SECTIONS;
use super::tree::lookup;

/// The JSON schema (draft 2020-12) of a topology file.
pub fn json_schema() -> Value {
    let defaults = Topology::defaults();
    let mut top = Map::new();
    // Inner sections come after the ones they lie in, as in the table of keys.
    for section in &SECTIONS {
        let keys: Map<_, _> = section
            .keys
            .iter()
            .map(|key| {
                let mut schema = of_rule(key);
                schema["description"] = json!(key.doc.trim());
                if let Some(Ok(default)) = lookup(&defaults, &key.dotted()).map(serde_json::to_value) {
                    schema["default"] = default;
                }
                (key.name.to_owned(), schema)
            })
            .collect();
        let schema = json!({
            "type": "object",
            "description": section.doc.trim(),
            "properties": keys,
            "additionalProperties": false,
        });
        match section.path.split_once('.') {
            None => top.insert(section.path.into(), schema),
            Some((outer, inner)) => top
                .get_mut(outer)
                .and_then(|outer| outer["properties"].as_object_mut()?.insert(inner.into(), schema)),
        };
    }
    top.insert(
        "actors".into(),
        json!({
            "type": "object",
            "description": "Actors of kinds your program registers, by kind, with their settings.",
            "additionalProperties": { "type": "object" },
        }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A dae topology",
        "type": "object",
        "properties": top,
        "additionalProperties": false,
    })
}

fn of_rule(key: &Key) -> Value {
    match key.rule {
        Rule::Bool => json!({ "type": "boolean" }),
        Rule::Int { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Rule::Float { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Rule::Text => json!({ "type": "string", "minLength": 1 }),
        Rule::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$" }),
        Rule::OneOf(words) => json!({ "type": "string", "enum": words }),
        Rule::Kind(words) => json!({ "type": "string", "minLength": 1, "examples": words }),
        Rule::Layers => json!({
            "type": "array",
            "minItems": LAYERS.start(),
            "maxItems": LAYERS.end(),
            "items": { "type": "integer", "minimum": WIDTHS.start(), "maximum": WIDTHS.end() },
        }),
        Rule::Names => json!({
            "type": "array",
            "maxItems": MOST_NAMES,
            "uniqueItems": true,
            "items": { "type": "string", "minLength": 1, "maxLength": 64 },
        }),
        Rule::Table => json!({ "type": "object" }),
    }
}
