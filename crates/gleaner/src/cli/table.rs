//! Aligned columns, and text from outside that cannot play tricks on a terminal.

/// Lines of cells, each column as wide as its widest; the last is left as it is.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        })
        .collect()
}

/// At most so many characters, on one line, control characters as blanks.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if clean.chars().count() <= most {
        return clean;
    }
    let kept: String = clean.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "b".into()], vec!["ccc".into(), "d".into()]];
        assert_eq!(aligned(&rows), "a    b\nccc  d\n");
        assert_eq!(shortened("zwölf Boxkämpfer", 8), "zwölf B…");
        assert_eq!(shortened("a\u{1b}[2Jb\n", 80), "a [2Jb ");
    }
}
