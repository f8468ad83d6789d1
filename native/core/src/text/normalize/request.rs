//! Reads a NormalizeRequest from its bytes: every valid one, however it is written. Why one is invalid is not
//! reported here.

use super::edits::checked;
use super::mode::Mode;
use crate::forms::Pairs;
use crate::json::{Scanner, Span, Unfit, unescape};

/// Most changes that are listed if the request sets no number.
pub const MAX_CHANGES: usize = 1000;

/// The body's members, defaults filled in.
#[derive(Debug)]
pub struct Options {
    /// Place of the text.
    pub text: Span,
    /// `mode`
    pub mode: Mode,
    /// `chinese_glosses`, in order.
    pub glosses: Pairs,
    /// `contextual`
    pub contextual: bool,
    /// `max_changes`
    pub max_changes: usize,
    /// `include_skeleton`
    pub include_skeleton: bool,
}

const NAMES: [&[u8]; 6] = [
    b"text",
    b"mode",
    b"chinese_glosses",
    b"contextual",
    b"max_changes",
    b"include_skeleton",
];

/// Reads a body.
///
/// # Errors
/// It is invalid. The length of the text is not checked here.
pub fn read(body: &[u8]) -> Result<Options, Unfit> {
    let mut options = Options {
        text: Span {
            start: 0,
            end: 0,
            escaped: false,
            ascii: true,
        },
        mode: Mode::Augment,
        glosses: Pairs::default(),
        contextual: true,
        max_changes: MAX_CHANGES,
        include_skeleton: false,
    };
    let mut scanner = Scanner::new(body)?;
    scanner.skip_space();
    let met = scanner.members(&NAMES, 1, |scanner, place| {
        match NAMES[place] {
            b"text" => options.text = scanner.string()?,
            b"mode" => options.mode = mode(scanner)?,
            b"chinese_glosses" => glosses(scanner, &mut options.glosses)?,
            b"contextual" => options.contextual = scanner.boolean()?,
            b"max_changes" => options.max_changes = count(scanner)?,
            _ => options.include_skeleton = scanner.boolean()?,
        }
        Ok(())
    })?;
    scanner.end()?;
    // The text's bit.
    if met & 1 == 0 { Err(Unfit) } else { Ok(options) }
}

fn mode(scanner: &mut Scanner) -> Result<Mode, Unfit> {
    let name = scanner.string()?;
    let names = Mode::ALL.map(|mode| mode.name().as_bytes());
    let place = scanner.place(name, &names).ok_or(Unfit)?;
    Ok(Mode::ALL[place])
}

fn glosses(scanner: &mut Scanner, glosses: &mut Pairs) -> Result<(), Unfit> {
    glosses.clear();
    if scanner.null()? {
        return Ok(());
    }
    let (mut form, mut word) = (Vec::new(), Vec::new());
    scanner.values(2, |scanner, name| {
        let value = scanner.string()?;
        glosses.add(plain(scanner, name, &mut form), plain(scanner, value, &mut word));
        Ok(())
    })
}

/// A string of the body; `unescaped` gets it if it has escapes.
fn plain<'a>(scanner: &Scanner<'a>, span: Span, unescaped: &'a mut Vec<u8>) -> &'a str {
    // The scanner has checked the encoding and the escapes.
    if !span.escaped {
        return checked(scanner.bytes(span));
    }
    unescaped.clear();
    unescape(scanner.bytes(span), unescaped);
    checked(unescaped)
}

fn count(scanner: &mut Scanner) -> Result<usize, Unfit> {
    let value = scanner.number()?;
    if value < 0.0 || value.fract() != 0.0 {
        return Err(Unfit);
    }
    // Saturates: no text has that many changes.
    Ok(value as usize)
}
