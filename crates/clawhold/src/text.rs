//! Text that comes from others, made safe to look at.

use std::borrow::Cow;

/// Returns `text` with everything written out that would not be seen as itself: controls, line
/// separators, direction marks and zero-width characters. A line of output stays one line, and
/// nothing repaints the terminal.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Returns `text` with the same care, its line breaks kept.
pub(crate) fn visible_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    lines.join("\n")
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns `text` in double quotes, as a shell reads it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

/// Returns `count` and the word that fits it: `1 job`, `2 jobs`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    let ending = if one.ends_with("ch") { "es" } else { "s" };
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}{ending}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_repaints_the_terminal_or_forges_a_line() {
        assert_eq!(visible("plain äöü 漢字"), "plain äöü 漢字");
        assert_eq!(visible("a\nb\r\tc"), "a\\nb\\r\\tc");
        assert_eq!(visible("\u{1b}[2J\u{1b}]0;title\u{7}"), "\\u{1b}[2J\\u{1b}]0;title\\u{7}");
        assert_eq!(
            visible("\u{202e}exe\u{200d}\u{2028}\u{85}\u{feff}"),
            "\\u{202e}exe\\u{200d}\\u{2028}\\u{85}\\u{feff}"
        );
        assert_eq!(visible_lines("one\ntw\u{8}o"), "one\ntw\\u{8}o");
    }

    #[test]
    fn what_is_quoted_is_read_by_a_shell_as_it_was() {
        assert_eq!(quoted("Promote Standby"), "\"Promote Standby\"");
        assert_eq!(quoted("a\"b$c`d\\e'f"), "\"a\\\"b\\$c\\`d\\\\e'f\"");
    }

    #[test]
    fn a_count_agrees_with_its_word() {
        assert_eq!(counted(0, "job"), "0 jobs");
        assert_eq!(counted(1, "job"), "1 job");
        assert_eq!(counted(12, "job"), "12 jobs");
        assert_eq!(counted(2, "mismatch"), "2 mismatches");
    }
}
