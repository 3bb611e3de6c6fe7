//! A page of Markdown, as the steps that its reader would take.
//!
//! Blocks marked `sh` are run, line by line; a block marked `text` right behind one is what it prints. Comments that no
//! reader sees say the rest:
//!
//! ```text
//! <!-- test: skip it builds everything -->      the next block is not run
//! <!-- test: run gleaner add http://a.example/ -->   something that the reader has done before
//! <!-- test: shows gleaner policy show -->      the next block is what this prints
//! ```

/// Something to run, and what it prints.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Where in the page, for messages.
    pub(super) line: usize,
    /// The lines of a block, without comments and blank lines; a backslash at the end goes on with the next.
    pub(super) commands: Vec<String>,
    /// What is printed, where the page says it.
    pub(super) output: Option<String>,
}

/// The steps of a page, in order.
pub(super) fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut skip, mut shows, mut behind) = (false, None, false);
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let line = line.trim();
        if let Some(told) = line.strip_prefix("<!-- test: ").and_then(|rest| rest.strip_suffix(" -->")) {
            match told.split_once(' ').unwrap_or((told, "")) {
                ("skip", _) => skip = true,
                ("shows", command) => shows = Some(command.to_owned()),
                ("run", command) => {
                    steps.push(Step { line: number + 1, commands: vec![command.to_owned()], output: None });
                }
                other => panic!("line {}: what does {other:?} mean?", number + 1),
            }
            continue;
        }
        let Some(kind) = line.strip_prefix("```") else {
            behind = behind && line.is_empty();
            continue;
        };
        let block: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```").collect();
        let text = block.join("\n") + "\n";
        match (kind, shows.take(), skip) {
            ("sh", _, false) => {
                steps.push(Step { line: number + 1, commands: commands(&text), output: None });
            }
            (_, Some(command), false) => {
                steps.push(Step { line: number + 1, commands: vec![command], output: Some(text) });
            }
            ("text", None, false) if behind => {
                if let Some(step) = steps.last_mut() {
                    step.output = Some(text);
                }
            }
            _ => {}
        }
        behind = kind == "sh" && !skip;
        skip = false;
    }
    steps
}

fn commands(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Whether something printed is what the page says. Times and secrets may differ, and so may the width of columns; `…`
/// stands for any text, on a line of its own for any lines.
pub(super) fn agrees(expected: &str, printed: &str) -> bool {
    let lines = |text: &str| text.trim().lines().map(stable).collect::<Vec<_>>();
    lines_agree(&lines(expected), &lines(printed))
}

fn lines_agree(expected: &[String], printed: &[String]) -> bool {
    match (expected.split_first(), printed.split_first()) {
        (Some((any, rest)), _) if any == "…" => {
            (0..=printed.len()).any(|skipped| lines_agree(rest, &printed[skipped..]))
        }
        (Some((first, rest)), Some((line, others))) => line_agrees(first, line) && lines_agree(rest, others),
        (None, None) => true,
        _ => false,
    }
}

fn line_agrees(expected: &str, printed: &str) -> bool {
    let mut pieces = expected.split('…');
    let Some(mut rest) = pieces.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else { return rest.is_empty() };
    for piece in between {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A line without what differs from run to run: digits of times and long secrets, and the width of columns.
fn stable(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let digits = bare.bytes().filter(u8::is_ascii_digit).count();
        let is_time =
            digits >= 4 && bare.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ".contains(&byte));
        let is_time = is_time && bare.bytes().filter(|byte| b"-:".contains(byte)).count() > 0;
        if is_time {
            return word.replace(bare, "TIME");
        }
        match word.rsplit_once('=') {
            Some((name, value)) if is_secret(value) => format!("{name}=SECRET"),
            _ if is_secret(bare) => word.replace(bare, "SECRET"),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_secret(word: &str) -> bool {
    word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[test]
fn a_page_is_read_as_its_steps() {
    let page = "# T\n```sh\na one  # why\n\n# only words\nb \\\n  two\n```\n\n```text\nout\n```\nWords.\n```text\nno\n```\n\
        <!-- test: skip -->\n```sh\nmake test\n```\n<!-- test: run c -->\n<!-- test: shows d -->\n```text\nx\n```\n";
    let step = |line, commands: &[&str], output: Option<&str>| Step {
        line,
        commands: commands.iter().map(|&line| line.to_owned()).collect(),
        output: output.map(str::to_owned),
    };
    let expected = [
        step(2, &["a one  # why", "b    two"], Some("out\n")),
        step(21, &["c"], None),
        step(23, &["d"], Some("x\n")),
    ];
    assert_eq!(steps(page), expected);
}

#[test]
fn what_differs_from_run_to_run_is_no_difference() {
    let cases = [
        ("a  b", "a b", true),
        ("at 2026-11-15 08:00 UTC", "at 2030-01-01 09:30 UTC", true),
        ("until 2026-11-15T08:00:00.1Z.", "until 2027-11-15T08:00:00Z.", true),
        ("3 entries", "4 entries", false),
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("a\n…\nd", "a\nb", false),
        ("In … minutes: x", "In 29 minutes: x", true),
        ("In … minutes: x", "In 29 hours: x", false),
        (
            "http://a/login?code=0123456789abcdef0123456789abcdef",
            "http://a/login?code=ffffffffffffffffffffffffffffffff",
            true,
        ),
        ("a", "a\nb", false),
    ];
    for (expected, printed, same) in cases {
        assert_eq!(agrees(expected, printed), same, "{expected} and {printed}");
    }
}
