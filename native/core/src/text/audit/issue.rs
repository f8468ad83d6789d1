//! The issues that a record may have, in the order of reports.

/// Issues of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Issue {
    /// Text decoded with the wrong encoding.
    Mojibake,
    /// Zero-width and bidirectional controls.
    Invisible,
    /// Letters of another script inside Latin words.
    Confusable,
    /// Fullwidth letters, ligatures, superscripts and other compatibility forms.
    Compatibility,
    /// Emoji and symbols with names.
    Emoji,
    /// Accents separate from their letters, or in a non-canonical order.
    Decomposed,
    /// Control characters.
    Control,
    /// Tags and character references of HTML.
    Html,
    /// Equal to an earlier record.
    ExactCopy,
    /// Equal to an earlier record only after repair.
    RepairedCopy,
    /// No letter, number or mark, even after normalization.
    Empty,
    /// Han and kana that a whitespace tokenizer does not separate.
    Unsegmented,
    /// Longer than the embedding model reads.
    Long,
}

impl Issue {
    /// Every issue, in the order of reports.
    pub const ALL: [Issue; 13] = [
        Issue::Mojibake,
        Issue::Invisible,
        Issue::Confusable,
        Issue::Compatibility,
        Issue::Emoji,
        Issue::Decomposed,
        Issue::Control,
        Issue::Html,
        Issue::ExactCopy,
        Issue::RepairedCopy,
        Issue::Empty,
        Issue::Unsegmented,
        Issue::Long,
    ];

    /// Its bit in a set of issues.
    #[must_use]
    pub fn bit(self) -> u16 {
        1 << self as u16
    }

    /// Its name in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Issue::Mojibake => "mojibake",
            Issue::Invisible => "invisible_characters",
            Issue::Confusable => "mixed_script_confusables",
            Issue::Compatibility => "compatibility_forms",
            Issue::Emoji => "emoji_and_symbols",
            Issue::Decomposed => "decomposed_accents",
            Issue::Control => "control_characters",
            Issue::Html => "html_residue",
            Issue::ExactCopy => "exact_duplicates",
            Issue::RepairedCopy => "normalized_duplicates",
            Issue::Empty => "empty",
            Issue::Unsegmented => "unsegmented_cjk",
            Issue::Long => "over_long",
        }
    }
}
