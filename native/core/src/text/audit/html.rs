//! HTML in text: tags of known elements and character references (HTML Living Standard, 13.1).

/// Elements whose tags are recognised: a subset of HTML's, those used for texts.
const ELEMENTS: [&str; 60] = [
    "a",
    "abbr",
    "article",
    "aside",
    "audio",
    "b",
    "blockquote",
    "body",
    "br",
    "button",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "figure",
    "font",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "input",
    "label",
    "li",
    "link",
    "main",
    "meta",
    "nav",
    "ol",
    "p",
    "pre",
    "script",
    "section",
    "small",
    "span",
    "strong",
    "style",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "title",
    "tr",
    "u",
    "ul",
    "video",
];

/// Names of recognised character references; accented letters are recognised by their suffixes.
const REFERENCES: [&str; 37] = [
    "amp", "lt", "gt", "quot", "apos", "nbsp", "copy", "reg", "trade", "hellip", "mdash", "ndash", "lsquo",
    "rsquo", "ldquo", "rdquo", "laquo", "raquo", "bull", "middot", "deg", "euro", "pound", "cent", "yen",
    "sect", "para", "times", "frac12", "frac14", "frac34", "szlig", "aelig", "oelig", "shy", "zwnj", "iexcl",
];

const ACCENTS: [&str; 8] = ["acute", "grave", "circ", "uml", "tilde", "cedil", "ring", "slash"];

/// Longest stretch in which a tag must end.
const LONGEST_TAG: usize = 1000;

/// The range of the first tag or reference.
#[must_use]
pub fn find(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'<', b'&', bytes).find_map(|at| {
        let rest = &bytes[at + 1..];
        let length = if bytes[at] == b'<' {
            tag(rest)
        } else {
            reference(rest)
        };
        length.map(|length| (at, at + 1 + length))
    })
}

/// Length of a tag after its `<`.
fn tag(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"!--") {
        return Some(3);
    }
    let closing = usize::from(text.first() == Some(&b'/'));
    let name = &text[closing..];
    let length = name
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let lower = name[..length.min(16)].to_ascii_lowercase();
    if !ELEMENTS.iter().any(|known| known.as_bytes() == lower) {
        return None;
    }
    let inside = &name[length..name.len().min(LONGEST_TAG)];
    let end = memchr::memchr(b'>', inside)?;
    // After the name: nothing, a slash, or attributes.
    let between = inside[..end].trim_ascii();
    let attributes = inside[0].is_ascii_whitespace() && between.contains(&b'=');
    (between.is_empty() || between == b"/" || attributes).then_some(closing + length + end + 1)
}

/// Length of a character reference after its `&`.
fn reference(text: &[u8]) -> Option<usize> {
    let end = text.iter().take(12).position(|&byte| byte == b';')?;
    let name = std::str::from_utf8(&text[..end]).ok()?;
    let known = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
            None => !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()),
        },
        None => REFERENCES.contains(&name) || is_accented(name),
    };
    known.then_some(end + 1)
}

/// True if a name is an accented letter's, such as `eacute`.
fn is_accented(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic()) && ACCENTS.contains(&letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn residue_is_found() {
        for text in [
            "<p>x",
            "x</p>",
            "a<br/>b",
            "<BR />",
            "<a href=\"x\">",
            "<img src=x>",
            "&amp;",
            "&#39;",
            "&#x27;",
            "caf&eacute;",
            "<!-- x",
            "1 < 2 <b>3",
        ] {
            assert!(find(text).is_some(), "{text}");
        }
    }

    #[test]
    fn other_text_is_left() {
        for text in [
            "a < b > c",
            "x <y> z",
            "R&D; AT&T;",
            "<b and c>",
            "&;",
            "&#;",
            "&#x;",
            "Q&A",
            "i<p and q>r",
            "<3",
            "List<String>",
            "<",
            "&",
            "<p",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
