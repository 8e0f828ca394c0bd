//! What rt-app's own tool `workgen` does to a file before rt-app reads it: a `"suspend"` that stands without a value
//! gets the name of its thread. (Its other change, a number after a key that comes again, is not needed: keys may come
//! again.)

use crate::file::NAME_MAX;
use jsonc_parser::Scanner;
use jsonc_parser::tokens::Token;
use std::borrow::Cow;
use std::ops::Range;

/// An object or array that is open, and the text of the key that it belongs to, with its quotes.
struct Open {
    object: bool,
    key: Option<Range<usize>>,
}

/// The text with all values filled in. Lines keep their numbers. What is no JSON is left as it is.
pub(super) fn fill_in(text: &str) -> Cow<'_, str> {
    let Some(tokens) = tokens(text) else { return Cow::Borrowed(text) };
    let (mut open, mut key, mut filled, mut done) = (Vec::<Open>::new(), None, String::new(), 0);
    for (i, (token, range)) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| &tokens[i].0);
        let begins = matches!(before, Some(Token::OpenBrace | Token::Comma));
        match token {
            Token::OpenBrace | Token::OpenBracket => {
                open.push(Open { object: *token == Token::OpenBrace, key: key.take() });
            }
            Token::CloseBrace | Token::CloseBracket => {
                open.pop();
            }
            Token::String(word) if begins && open.last().is_some_and(|open| open.object) => {
                let alone = matches!(tokens.get(i + 1), Some((Token::Comma | Token::CloseBrace, _)));
                if !alone {
                    key = Some(range.clone());
                } else if word.starts_with("suspend")
                    && let Some(thread) = thread(text, &open)
                {
                    filled.push_str(&text[done..range.end]);
                    filled.push_str(" : ");
                    filled.push_str(thread);
                    done = range.end;
                }
            }
            Token::Comma => key = None,
            _ => {}
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    filled.push_str(&text[done..]);
    Cow::Owned(filled)
}

/// The key of the thread that is open, with its quotes.
fn thread<'a>(text: &'a str, open: &[Open]) -> Option<&'a str> {
    let key = |depth: usize| open.get(depth)?.key.clone().map(|range| &text[range]);
    key(1).filter(|key| key.trim_matches(['"', '\'']) == "tasks")?;
    // A longer one is refused later. It could be filled in any number of times. One over several lines, which is no
    // JSON, would change the numbers of the lines after it.
    key(2).filter(|key| key.len() <= NAME_MAX + 2 && !key.contains('\n'))
}

/// All tokens but comments, with their places; `None` where there is something that is no token.
fn tokens(text: &str) -> Option<Vec<(Token<'_>, Range<usize>)>> {
    let mut scanner = Scanner::new(text, &Default::default());
    let mut tokens = Vec::new();
    while let Some(token) = scanner.scan().ok()? {
        if !matches!(token, Token::CommentLine(_) | Token::CommentBlock(_)) {
            tokens.push((token, scanner.token_start()..scanner.token_end()));
        }
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspend_without_a_value_gets_its_threads_name() {
        let text = "{\"tasks\": {\"a.b\": {\"suspend\", \"run\": 1,\n\"suspend\"}, \"c\": {\"phases\": {\"p\": \
                    {\"suspend\" /* x */}}}}}";
        let filled = "{\"tasks\": {\"a.b\": {\"suspend\" : \"a.b\", \"run\": 1,\n\"suspend\" : \"a.b\"}, \"c\": \
                      {\"phases\": {\"p\": {\"suspend\" : \"c\" /* x */}}}}}";
        assert_eq!(fill_in(text), filled);
    }

    #[test]
    fn nothing_else_is_filled_in() {
        for text in [
            "{\"tasks\": {\"a\": {\"suspend\": \"suspend\", \"run\"}}}",
            "{\"tasks\": {\"a\": {\"cpus\": [\"suspend\"]}}, \"global\": {\"x\": {\"suspend\"}}}",
            "{\"suspend\"}",
            "{\"tasks\": {\"a\nb\": {\"suspend\"}}}",
            "[\"suspend\", {\"suspend\"}]",
            "{\"tasks\": {\"a\": {\"suspend\", \"\u{1}",
            "",
        ] {
            assert_eq!(fill_in(text), text);
        }
    }
}
