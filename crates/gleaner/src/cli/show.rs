//! JSON of the API as cells of tables.

use serde_json::Value;

use super::table::shortened;

/// A field as text; `-` where it is empty.
pub(super) fn text(value: &Value, field: &str) -> String {
    match value.get(field) {
        Some(Value::String(text)) if !text.is_empty() => shortened(text, 2000),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(yes)) => yes.to_string(),
        _ => "-".to_owned(),
    }
}

/// A time to the second, as people read it; `-` where there is none.
pub(super) fn when(value: &Value, field: &str) -> String {
    let time = text(value, field);
    // RFC 3339, UTC throughout: 2026-11-15T08:30:00.123Z.
    match (time.get(..10), time.get(11..19)) {
        // The first user and collection come with the database, whenever that was.
        (Some("1970-01-01"), _) => "-".to_owned(),
        (Some(day), Some(clock)) if time.ends_with('Z') => format!("{day} {clock}"),
        _ => time,
    }
}

/// A row for each.
pub(super) fn rows(values: &[Value], row: impl Fn(&Value) -> Vec<String>) -> Vec<Vec<String>> {
    values.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_cells() {
        let value = json!({ "a": "x\u{1b}", "b": 2, "c": null, "d": "", "at": "2026-11-15T08:30:00.123Z" });
        assert_eq!(["a", "b", "c", "d", "e"].map(|field| text(&value, field)), ["x ", "2", "-", "-", "-"]);
        assert_eq!((when(&value, "at"), when(&value, "c")), ("2026-11-15 08:30:00".into(), "-".into()));
    }
}
