//! Reading a NormalizeRequest out of its bytes. What is invalid, repeated or escaped among the names of its
//! members is left to the exact path, which names the errors.

use super::Mode;
use crate::json::{Refusal, Scanner, Span, unescape};

/// Changes that are listed where the request names no other number.
pub const MAX_CHANGES: usize = 1000;

/// Why the fast path leaves a body to the exact one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declined;

impl From<Refusal> for Declined {
    fn from(_: Refusal) -> Self {
        Declined
    }
}

/// What the body says, defaults filled in.
#[derive(Debug)]
pub struct Options {
    /// Place of the text.
    pub text: Span,
    /// `mode`
    pub mode: Mode,
    /// `chinese_glosses`, in order.
    pub glosses: Vec<(String, String)>,
    /// `contextual`
    pub contextual: bool,
    /// `max_changes`
    pub max_changes: usize,
    /// `include_skeleton`
    pub include_skeleton: bool,
}

/// A body on its way to being read.
pub struct Reader<'a> {
    body: &'a [u8],
    scanner: Scanner<'a>,
}

impl<'a> Reader<'a> {
    /// Reads `body`.
    ///
    /// # Errors
    /// [`Declined`] for whatever the exact path must look at.
    pub fn read(body: &'a [u8]) -> Result<Options, Declined> {
        let mut reader = Reader {
            body,
            scanner: Scanner::new(body)?,
        };
        let mut options = Options {
            text: Span {
                start: 0,
                end: 0,
                escaped: false,
                ascii: true,
            },
            mode: Mode::Augment,
            glosses: Vec::new(),
            contextual: true,
            max_changes: MAX_CHANGES,
            include_skeleton: false,
        };
        let mut seen = 0;
        reader.scanner.skip_space();
        reader.object(|reader, name| {
            if name.escaped {
                return Err(Declined);
            }
            let name = &reader.body[name.start..name.end];
            reader.member(name, &mut seen, &mut options)
        })?;
        reader.scanner.end()?;
        // The text's bit.
        if seen & 1 == 0 { Err(Declined) } else { Ok(options) }
    }

    /// Reads an object and hands each member's name to `member`, which reads the value.
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Span) -> Result<(), Declined>,
    ) -> Result<(), Declined> {
        self.scanner.expect(b'{')?;
        self.scanner.skip_space();
        if self.scanner.take(b'}') {
            return Ok(());
        }
        loop {
            let name = self.scanner.key()?;
            member(self, name)?;
            self.scanner.skip_space();
            if !self.scanner.take(b',') {
                break;
            }
            self.scanner.skip_space();
        }
        Ok(self.scanner.expect(b'}')?)
    }

    fn member(&mut self, name: &[u8], seen: &mut u32, options: &mut Options) -> Result<(), Declined> {
        const NAMES: [&[u8]; 6] = [
            b"text",
            b"mode",
            b"chinese_glosses",
            b"contextual",
            b"max_changes",
            b"include_skeleton",
        ];
        let Some(place) = NAMES.iter().position(|known| *known == name) else {
            return Ok(self.scanner.skip_value(1)?);
        };
        // Of a repeated member the last counts, which the exact path sees to.
        if *seen & 1 << place != 0 {
            return Err(Declined);
        }
        *seen |= 1 << place;
        match place {
            0 => options.text = self.scanner.string()?,
            1 => options.mode = self.mode()?,
            2 => self.glosses(&mut options.glosses)?,
            3 => options.contextual = self.boolean()?,
            4 => options.max_changes = self.count()?,
            _ => options.include_skeleton = self.boolean()?,
        }
        Ok(())
    }

    fn mode(&mut self) -> Result<Mode, Declined> {
        let span = self.scanner.string()?;
        match &self.body[span.start..span.end] {
            b"augment" => Ok(Mode::Augment),
            b"replace" => Ok(Mode::Replace),
            b"repair" => Ok(Mode::Repair),
            _ => Err(Declined),
        }
    }

    fn text(&self, span: Span) -> String {
        let mut bytes = Vec::new();
        unescape(&self.body[span.start..span.end], &mut bytes);
        // The scanner has checked the encoding and the escapes.
        String::from_utf8(bytes).unwrap_or_default()
    }

    fn glosses(&mut self, glosses: &mut Vec<(String, String)>) -> Result<(), Declined> {
        if self.scanner.peek() == Some(b'n') {
            return Ok(self.scanner.literal(b"null")?);
        }
        self.object(|reader, name| {
            let word = reader.scanner.string()?;
            glosses.push((reader.text(name), reader.text(word)));
            Ok(())
        })
    }

    fn boolean(&mut self) -> Result<bool, Declined> {
        let value = self.scanner.peek() == Some(b't');
        self.scanner.literal(if value { b"true" } else { b"false" })?;
        Ok(value)
    }

    fn count(&mut self) -> Result<usize, Declined> {
        let value = self.scanner.number()?;
        if value < 0.0 || value.fract() != 0.0 {
            return Err(Declined);
        }
        // Saturates: no text has that many changes.
        Ok(value as usize)
    }
}
