//! Aligned columns, and text from outside that cannot play tricks on a terminal.

use crate::printable::is_hidden;

/// Columns are not cut below this.
const NARROWEST: usize = 8;

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

/// The same cells, cut so that no line is wider than this: the widest column gives first.
pub(super) fn fitted(rows: &[Vec<String>], width: usize) -> Vec<Vec<String>> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..columns).map(widest).collect();
    let room = width.saturating_sub(2 * columns.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max() {
            Some(most) if *most > NARROWEST => *most -= 1,
            // There is nothing left to give; the terminal breaks the lines.
            _ => break,
        }
    }
    rows.iter()
        .map(|row| row.iter().zip(&widths).map(|(cell, width)| shortened(cell, *width)).collect())
        .collect()
}

/// At most so many characters, on one line, without hidden ones; control characters are blanks.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let clean: String = text
        .chars()
        .filter(|c| c.is_control() || !is_hidden(*c))
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
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
        let narrow = fitted(&[vec!["1".into(), "https://a.example/feed".into()]], 14);
        assert_eq!(narrow, [["1", "https://a.…"]], "the widest gives");
        let hopeless = fitted(&[vec!["a".repeat(20), "b".repeat(20)]], 3);
        assert_eq!(hopeless[0][1].chars().count(), NARROWEST);
        assert_eq!(shortened("zwölf Boxkämpfer", 8), "zwölf B…");
        assert_eq!(shortened("a\u{1b}[2Jb\n", 80), "a [2Jb ");
    }
}
