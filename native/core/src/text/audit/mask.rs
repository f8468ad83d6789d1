//! Personal data in excerpts: text that looks like an address, a personal number, or a secret is replaced by
//! a label. It masks too much rather than too little. It does not recognise names of people.

use crate::text::normalize::properties::{latin, mapped, properties};

/// Number of digits from which a number may be personal.
const DIGITS: usize = 7;

/// Length from which a word of letters and digits may be a secret.
const SECRET: usize = 20;

/// Turns the digit before it into a keycap.
const KEYCAP: char = '\u{20E3}';

/// Prefixes of well-known providers' keys, and the least number of characters after them, as documented by
/// the providers and their secret scanners.
const KEYS: [(&str, usize); 34] = [
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 35),
    ("ya29.", 20),
    ("GOCSPX-", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 22),
    ("glpat-", 20),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("whsec_", 16),
    ("sk-", 20),
    ("npm_", 36),
    ("pypi-", 16),
    ("hf_", 30),
    ("SG.", 20),
    ("dop_v1_", 40),
    ("shpat_", 32),
    ("AGE-SECRET-KEY-", 20),
    ("PMAK-", 20),
    ("lin_api_", 20),
    ("fg_", 40),
];

/// The first characters of keys, all of them ASCII, as bits.
const FIRST_OF_KEY: u128 = {
    let (mut bits, mut at) = (0, 0);
    while at < KEYS.len() {
        bits |= 1 << KEYS[at].0.as_bytes()[0];
        at += 1;
    }
    bits
};

/// Bytes of the shortest key: `xoxa-` and 10 more.
const SHORTEST_KEY: usize = 15;

/// Length of an AWS secret access key, which has no prefix.
const AWS_SECRET: usize = 40;

/// Length from which a word that begins like JSON in base64 counts as part of a token.
const TOKEN_PART: usize = 12;

/// A range of a text and its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Masked {
    /// First byte.
    pub start: usize,
    /// Byte after the last one.
    pub end: usize,
    /// The text shown instead.
    pub label: &'static str,
}

/// The ranges to mask in a text, in order and separate.
#[must_use]
pub fn find(text: &str) -> Vec<Masked> {
    let mut found = words(text);
    found.extend(addresses(text));
    found.extend(numbers(text));
    merged(found)
}

/// Ranges in order; overlapping ones are merged under the first one's label.
#[must_use]
pub fn merged(mut found: Vec<Masked>) -> Vec<Masked> {
    found.sort_by_key(|masked| (masked.start, usize::MAX - masked.end));
    let mut all: Vec<Masked> = Vec::new();
    for next in found {
        match all.last_mut() {
            Some(last) if next.start < last.end => last.end = last.end.max(next.end),
            _ => all.push(next),
        }
    }
    all
}

fn ends_word(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '"' | '|' | '\''
        )
}

/// Words that are, or contain, addresses or secrets.
fn words(text: &str) -> Vec<Masked> {
    let mut found = Vec::new();
    let mut start = 0;
    for (end, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if ends_word(c) {
            let word = &text[start..end];
            if let Some(label) = label(word) {
                found.push(Masked { start, end, label });
            } else if let Some(place) = first(key_at(word), secret_at(word)) {
                let (start, label) = (start + place, "[secret]");
                found.push(Masked { start, end, label });
            }
            start = end + c.len_utf8();
        }
    }
    found
}

/// The lesser of two places; either may be absent.
fn first(left: Option<usize>, right: Option<usize>) -> Option<usize> {
    left.into_iter().chain(right).min()
}

/// The label that replaces a word, if it must not be shown.
fn label(word: &str) -> Option<&'static str> {
    let at_sign = |c: char| matches!(c, '@' | '＠' | '﹫');
    if let Some(place) = word.find(at_sign) {
        let (before, after) = word.split_at(place);
        if after.chars().nth(1).is_some() {
            return Some(if before.is_empty() { "[handle]" } else { "[email]" });
        }
        // A name and a password in a URL, before an address in brackets.
        if before
            .split_once("://")
            .is_some_and(|(_, user)| user.contains(':'))
        {
            return Some("[secret]");
        }
    }
    if has_network_address(word) {
        return Some("[address]");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'/' | b'=');
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let secret = word.len() >= SECRET && digits >= 3 && letters >= 3 && word.bytes().all(plain);
    (secret && !word.contains("//")).then_some("[secret]")
}

/// Offset of a secret inside a word, such as in a URL or after a name and a colon. Invisible characters
/// are skipped, and lookalikes count as the characters they resemble.
fn secret_at(word: &str) -> Option<usize> {
    let mut start = None;
    let (mut letters, mut digits, mut count) = (0, 0, 0);
    for (at, c) in word.char_indices().chain([(word.len(), '.')]) {
        if let Some(plain) = plain(c) {
            let first = *start.get_or_insert(at);
            count += 1;
            letters += usize::from(plain.is_ascii_alphabetic());
            digits += usize::from(plain.is_ascii_digit());
            let is_secret = count >= SECRET && digits >= 3 && letters >= 3;
            // The beginning of JSON in base64: a part of a token (RFC 7519).
            if is_secret || count >= TOKEN_PART && word[first..].starts_with("eyJ") {
                return Some(first);
            }
        } else if !properties(c).ignorable() {
            start = None;
            (letters, digits, count) = (0, 0, 0);
        }
    }
    None
}

/// Offset of a provider's key in a word. Invisible characters are skipped, and lookalikes count as the
/// characters they resemble.
fn key_at(word: &str) -> Option<usize> {
    // Most words are shorter than any key.
    if word.len() < SHORTEST_KEY {
        return None;
    }
    let visible = |(at, c): (usize, char)| (!properties(c).ignorable()).then(|| (at, plain(c).unwrap_or(c)));
    let (places, read): (Vec<usize>, Vec<char>) = word.char_indices().filter_map(visible).unzip();
    let of_key = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = |from: usize, (prefix, rest): &(&str, usize)| {
        let length = prefix.len();
        read.len() >= from + length + rest
            && prefix.chars().eq(read[from..from + length].iter().copied())
            && read[from + length..].iter().take_while(|c| of_key(c)).count() >= *rest
    };
    let is_first = |from: &usize| {
        let c = read[*from];
        let begins_key = c.is_ascii() && FIRST_OF_KEY >> u32::from(c) & 1 == 1;
        begins_key && (*from == 0 || !read[from - 1].is_ascii_alphanumeric())
    };
    let mut firsts = (0..read.len()).filter(is_first);
    let known = firsts.find(|from| KEYS.iter().any(|key| begins(*from, key)));
    Some(places[known.or_else(|| aws_secret_at(&read))?])
}

/// Offset of exactly 40 characters of base64 with upper-case and lower-case letters and digits (an AWS secret
/// access key). Paths have full stops, hyphens or more characters.
fn aws_secret_at(read: &[char]) -> Option<usize> {
    let of_key = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '/' | '+');
    let mut from = 0;
    for run in read.split(|c| !of_key(c)) {
        let has = |what: fn(&char) -> bool| run.iter().any(what);
        let mixed =
            has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase) && has(char::is_ascii_digit);
        if run.len() == AWS_SECRET && mixed {
            return Some(from);
        }
        from += run.len() + 1;
    }
    None
}

/// The plain character that one resembles, if it may be part of a secret.
fn plain(c: char) -> Option<char> {
    let read = match c {
        _ if c.is_ascii() => c,
        _ => latin(c).or_else(|| mapped(c)?.0.chars().next())?,
    };
    (read.is_ascii_alphanumeric() || matches!(read, '-' | '_' | '+')).then_some(read)
}

/// True if a word has an address of the Internet Protocol, version 6: alone, or as a part of a URL, of a
/// setting or of a network, with a zone.
fn has_network_address(word: &str) -> bool {
    let ends = |c: char| matches!(c, '=' | '/' | '@' | '%' | '?' | '#' | '&');
    word.split(ends).any(|part| {
        let part = part.trim_end_matches(['.', ':']);
        part.len() > 6 && part.parse::<std::net::Ipv6Addr>().is_ok()
    })
}

/// Addresses of the Internet Protocol, version 4, whatever they stand in or touch.
fn addresses(text: &str) -> Vec<Masked> {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = bytes[at..]
        .iter()
        .position(u8::is_ascii_digit)
        .map(|next| at + next)
    {
        let length = bytes[start..].iter().take_while(|byte| is_part(byte)).count();
        at = start + length;
        let host = text[start..at].trim_end_matches('.');
        if host.parse::<std::net::Ipv4Addr>().is_ok() {
            let (end, label) = (start + host.len(), "[address]");
            found.push(Masked { start, end, label });
        }
    }
    found
}

/// Long enough runs of digits, with the characters that separate digits in numbers.
fn numbers(text: &str) -> Vec<Masked> {
    let mut found = Vec::new();
    let mut run: Option<(usize, usize, usize, usize)> = None;
    for (at, c) in text.char_indices().chain([(text.len(), 'x')]) {
        if is_digit(c) {
            let (start, _, digits, _) = run.unwrap_or((at, at, 0, 0));
            run = Some((start, at + c.len_utf8(), digits + 1, 0));
        } else if let Some((start, end, digits, gap)) = run {
            if c == KEYCAP {
                run = Some((start, at + c.len_utf8(), digits, gap));
            } else if properties(c).ignorable() {
                // Invisible, so that it separates nothing.
            } else if gap < 3 && parts_digits(c) {
                run = Some((start, end, digits, gap + 1));
            } else {
                if digits >= DIGITS {
                    found.push(number(text, start, end));
                }
                run = None;
            }
        }
    }
    found
}

/// A number with the sign or bracket before it.
fn number(text: &str, start: usize, end: usize) -> Masked {
    let before = text[..start].trim_end_matches(['+', '(']).len();
    Masked {
        start: before,
        end,
        label: "[number]",
    }
}

/// True if a character is a decimal digit or a form of one, such as ⑤.
fn is_digit(c: char) -> bool {
    let written = |form: &str| !form.is_empty() && form.bytes().all(|byte| byte.is_ascii_digit());
    c.is_ascii_digit() || properties(c).digit() || mapped(c).is_some_and(|(form, _)| written(form))
}

/// True if a character may stand between the digits of one number.
fn parts_digits(c: char) -> bool {
    matches!(
        c,
        ' ' | '-' | '.' | '/' | '(' | ')' | '\u{A0}' | '\u{202F}' | '\u{2010}'..='\u{2015}'
    )
}

#[cfg(test)]
mod tests {
    use super::find;

    fn masked(text: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        for each in find(text) {
            out.push_str(&text[at..each.start]);
            out.push_str(each.label);
            at = each.end;
        }
        out + &text[at..]
    }

    #[test]
    fn personal_data_is_named() {
        for (text, shown) in [
            ("write to ada@example.com, please", "write to [email], please"),
            ("ada＠example.com", "[email]"),
            ("mailto:ada@example.com?x", "[email]"),
            ("thanks @ada_l!", "thanks [handle]"),
            ("call +1 (415) 555-0100 now", "call [number] now"),
            ("card 4111 1111 1111 1111.", "card [number]."),
            ("IBAN DE89 3704 0044 0532 0130 00", "IBAN DE[number]"),
            ("ssn 123-45-6789", "ssn [number]"),
            ("１２３４５６７８", "[number]"),
            ("12\u{200B}345\u{200B}67", "[number]"),
            ("key sk_live_51H8aBcDeFgHiJkLmN", "key [secret]"),
            ("key=sk_live_51H8aBcDeFgHiJkLmN", "[secret]"),
            ("api_key:sk_live_51H8aBcDeFgHiJkLmN", "api_key:[secret]"),
            (
                "https://x.example/?t=sk_live_51H8aBcDeFgHiJkLmN&p=2",
                "https://x.example/?t=[secret]",
            ),
            (
                "auth Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl ok",
                "auth Bearer [secret] ok",
            ),
            ("token.sk_live\u{200B}_51H8aBc\u{AD}DeFgHiJkLmN", "token.[secret]"),
            ("token.ｓｋ_live_51Н8аBcDeFgHiJkLmN", "token.[secret]"),
            ("id AKIAIOSFODNN7EXAMPLE end", "id [secret] end"),
            (
                "aws_access_key_id=AKIAIOSFODNN7EXAMPLE",
                "aws_access_key_id=[secret]",
            ),
            ("A\u{200B}KIAIOSFODNN7EXAMPLE", "[secret]"),
            ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "[secret]"),
            ("ghp_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", "[secret]"),
            ("xoxb-abcdefghij-klmnop", "[secret]"),
            ("key sk-ant-abcdefghijklmnopqrst", "key [secret]"),
            ("AIzaSyabcdefghijklmnopqrstuvwxyzABCDEFG", "[secret]"),
            ("5\u{FE0F}\u{20E3}5\u{20E3} 5\u{FE0F}\u{20E3}1234", "[number]"),
            ("⑤⑤⑤-⑤①②③", "[number]"),
            ("12345678\u{200B}", "[number]\u{200B}"),
        ] {
            assert_eq!(masked(text), shown, "{text}");
        }
    }

    #[test]
    fn network_addresses_are_named_wherever_they_stand() {
        for (text, shown) in [
            ("from 10.0.0.1 and 2001:db8::1", "from [address] and [address]"),
            ("at 10.0.0.1:8080.", "at [address]:8080."),
            (
                "http://10.0.0.1/x and ip=5.6.7.8",
                "http://[address]/x and ip=[address]",
            ),
            (
                "ip:10.0.0.1 is 10.0.0.2?x=1 or 10.0.0.3…",
                "ip:[address] is [address]?x=1 or [address]…",
            ),
            ("服务器是10.0.0.1请不要", "服务器是[address]请不要"),
            (
                "10.1.0.0/8 addr=2a00:1450::8a fe80::1:2%eth0",
                "[address]/8 [address] [address]",
            ),
            (
                "http://[2001:db8::1]:80/?a=2a00:1450::8a",
                "http://[[address]][address]",
            ),
            ("http://root:s3cret@[::1]:80/", "[secret][::1]:80/"),
        ] {
            assert_eq!(masked(text), shown, "{text}");
        }
    }

    #[test]
    fn other_text_is_shown() {
        for text in [
            "in 2024 we sold 120 units",
            "3 @ 5",
            "a@",
            "size 10 x 20",
            "https://example.com/a/long/path/of/words/2",
            "https://example.com/2024/01/photo.jpeg?size=120",
            "com.example.package.Module1.Function2.Value3",
            "::",
            "12:30",
            "a/1.2.3/b=4 and 50% of it",
            "AKIA is a prefix, and so is sk-",
            "risk-averse, task-management-and-planning-tools",
            "Documents/Reports/Quarterly/Figures/Final2/x",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
