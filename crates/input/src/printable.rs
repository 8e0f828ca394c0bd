//! Text of others on a terminal.

use std::borrow::Cow;

/// Escapes the characters of a text that a terminal would obey instead of show, so that the text takes one line and
/// reads in the order in which it is stored.
///
/// Any process can put any byte into its `comm`, and any user with a control group of their own can name folders below
/// it. Printed as they are, such names set the title of the reader's terminal, clear it, or overwrite the line that
/// they are in. These are escaped as [`char::escape_default`] does it, such as `\u{1b}` for ESC and `\n` for the end of
/// a line:
///
/// - the control characters of C0, DEL and C1;
/// - the characters that change the direction of text or end a line: U+061C, U+200E, U+200F, U+2028 to U+202E, and
///   U+2066 to U+2069.
///
/// Everything else stays, including backslashes: systemd puts `\x2d` into the names of control groups, and the reader
/// must find such a name again in `/sys/fs/cgroup`. So the escaped text is for people, and does not say for certain
/// what the text was. A text that has nothing to escape is not copied.
///
/// Give this function the names that a message or a table is made of. A whole message would lose the ends of its lines.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Escapes what [`printable`] escapes in a text of several lines, but not the ends of lines and tabs. This is for the
/// whole output of a command. The names in it go through [`printable`] first, or they could begin lines of their own.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let is_kept = |c| matches!(c, '\n' | '\t');
    if !text.contains(|c| is_obeyed(c) && !is_kept(c)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for part in text.split_inclusive(is_kept) {
        let inner = part.trim_end_matches(is_kept);
        escaped.push_str(&printable(inner));
        escaped.push_str(&part[inner.len()..]);
    }
    Cow::Owned(escaped)
}

/// Returns whether a terminal obeys the character: a control character, or one that changes the direction of the text
/// around it or ends its line.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_no_terminal_obeys_is_not_copied() {
        for text in ["", "kworker/0:1-events", r"/user.slice/app-a\x2db.scope", "héllo wörld 任务 \u{a0}x"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn escape_sequences_are_shown() {
        for (text, shown) in [
            ("\u{1b}]0;title\u{7}", r"\u{1b}]0;title\u{7}"),
            ("\u{1b}[2Jx", r"\u{1b}[2Jx"),
            ("\u{9b}2J", r"\u{9b}2J"),
            ("seen\rfaked", r"seen\rfaked"),
            ("a\u{8}b\u{7f}", r"a\u{8}b\u{7f}"),
            ("one\ntwo\tthree\0", r"one\ntwo\tthree\u{0}"),
            ("a\u{202e}b\u{2066}c", r"a\u{202e}b\u{2066}c"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn lines_and_tabs_stay_in_a_text_of_several_lines() {
        assert_eq!(printable_lines("a\tb\n\u{1b}[2J\r\n\nend"), "a\tb\n\\u{1b}[2J\\r\n\nend");
        assert!(matches!(printable_lines("a\tb\n\nc\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_control_character_and_no_direction_is_left() {
        let all: String = ('\0'..='\u{ffff}').collect();
        let shown = printable(&all);
        assert!(!shown.contains(char::is_control));
        assert!(!shown.contains(['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}']));
        assert!(!shown.contains(|c| ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)));
        // Nothing but these is changed: 65 control characters and 14 others.
        let kept = all.chars().filter(|&c| printable(&c.to_string()) == c.to_string()).count();
        assert_eq!(all.chars().count() - kept, 65 + 14);
    }
}
