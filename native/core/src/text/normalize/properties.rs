//! Properties of a character that the repair needs (UAX #15, #24, #44; UTS #51), in one look-up.

use crate::text::normalize_tables as tables;

/// The repair's action at a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// Always replaced by [`mapped`]: quotes, dashes, spaces, compatibility forms.
    Map,
    /// May be invalid in NFC, or after the previous character (NFC_Quick_Check is No or Maybe).
    Compose,
    /// A mark whose order among marks matters (Canonical_Combining_Class is not 0).
    Mark,
    /// A letter that resembles a Latin one; see [`latin`].
    Confusable,
    /// Zero-width or bidirectional control.
    Invisible,
    /// Zero-width joiner or non-joiner, or the Mongolian vowel separator.
    Joiner,
    /// Variation selector 15 or 16.
    Variation,
    /// Tag character.
    Tag,
    /// Control character.
    Control,
    /// Superscript.
    Superscript,
    /// Subscript.
    Subscript,
    /// Vulgar fraction.
    Fraction,
    /// Enclosed alphanumeric, enclosed CJK letter or month, or a sign such as ™ that means letters.
    Enclosed,
    /// Fullwidth punctuation, which stays as it is next to Han and kana.
    Wide,
    /// The fraction slash, and the prime, which have another meaning between digits or letters.
    Slash,
}

/// Actions by number in the tables.
const ACTIONS: [Action; 16] = [
    Action::None,
    Action::Map,
    Action::Compose,
    Action::Mark,
    Action::Confusable,
    Action::Invisible,
    Action::Joiner,
    Action::Variation,
    Action::Tag,
    Action::Control,
    Action::Superscript,
    Action::Subscript,
    Action::Fraction,
    Action::Enclosed,
    Action::Wide,
    Action::Slash,
];

/// One character's properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties(u32);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal,)*) => {
        impl Properties {
            $($(#[$doc])* #[inline] #[must_use] pub fn $name(self) -> bool {
                self.0 & (1 << $bit) != 0
            })*
        }
    };
}

flags! {
    /// Of general category L, N or M.
    word = 4,
    /// Of general category L.
    letter = 5,
    /// Latin is among its Script_Extensions.
    latin = 6,
    /// Has no script: its Script_Extensions are only Common or Inherited.
    neutral = 7,
    /// A letter, number or mark of Han, Hiragana or Katakana.
    han_or_kana = 8,
    /// A letter or mark of a script whose letters join or stack.
    joining = 9,
    /// Emoji=Yes and not ASCII.
    emoji = 10,
    /// Extended_Pictographic=Yes.
    pictograph = 11,
    /// A CLDR name's sequence begins with it.
    named = 12,
    /// A decimal digit.
    digit = 13,
    /// Default_Ignorable_Code_Point=Yes.
    ignorable = 14,
    /// Punctuation of CJK or fullwidth punctuation.
    wide_neighbour = 15,
}

impl Properties {
    /// The repair's action for it.
    #[inline]
    #[must_use]
    pub fn action(self) -> Action {
        ACTIONS[(self.0 & 15) as usize]
    }

    /// Its mojibake classes, one bit each; 0 if it is never mojibake.
    #[inline]
    #[must_use]
    pub fn classes(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// True if [`Properties::action`] is [`Action::None`].
    #[inline]
    #[must_use]
    pub fn inert(self) -> bool {
        self.0 & 15 == 0
    }
}

/// Looks up a character.
#[inline]
#[must_use]
pub fn properties(c: char) -> Properties {
    let code = c as usize;
    let block = usize::from(tables::PROPERTIES_BLOCK[code >> 7]);
    Properties(tables::PROPERTIES[block][code & 127])
}

fn find<T>(table: &'static [T], code: u32, key: impl Fn(&T) -> u32) -> Option<&'static T> {
    let place = table.binary_search_by_key(&code, key).ok()?;
    Some(&table[place])
}

/// Replacement of a quote, dash, space or compatibility form, and the kind of the change.
#[must_use]
pub fn mapped(c: char) -> Option<(&'static str, Kind)> {
    let block = usize::from(tables::MAP_PLACE_BLOCK[c as usize >> 7]);
    let place = usize::from(tables::MAP_PLACE[block][c as usize & 127]).checked_sub(1)?;
    let (to, kind) = tables::MAPS[place];
    Some((to, Kind::ALL[usize::from(kind)]))
}

/// True if a character may be a digit of a fraction: a decimal digit, or a superscript or subscript one.
#[must_use]
pub fn fraction_digit(c: char) -> bool {
    let known = properties(c);
    let script = matches!(known.action(), Action::Superscript | Action::Subscript);
    let digit = |form: &str| form.bytes().all(|byte| byte.is_ascii_digit());
    c.is_ascii_digit() || known.digit() || script && mapped(c).is_some_and(|(form, _)| digit(form))
}

/// The one Latin letter that a letter is confusable with (UTS #39).
#[must_use]
pub fn latin(c: char) -> Option<char> {
    find(&tables::CONFUSABLES, u32::from(c), |entry| entry.0).map(|entry| entry.1)
}

/// True if a letter is one of the lower-case Greek letters that keep their own meaning next to Latin ones, as
/// in TNFα and PPARγ2. Omicron is not: it looks like o, and no one uses it as a symbol.
#[inline]
#[must_use]
pub fn greek_symbol(c: char) -> bool {
    matches!(c, 'α'..='ω') && c != 'ο'
}

/// A character's prototype (UTS #39, confusables.txt).
#[must_use]
pub fn prototype(c: char) -> Option<&'static str> {
    find(&tables::PROTOTYPES, u32::from(c), |entry| entry.0).map(|entry| entry.1)
}

/// Kind of a change. If several kinds made a change together, it has the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Text decoded with the wrong encoding.
    Mojibake,
    /// Emoji glossed.
    Emoji,
    /// Symbol glossed.
    Symbol,
    /// A caller's gloss.
    Gloss,
    /// Control character.
    Control,
    /// Zero-width or bidirectional control.
    Invisible,
    /// Exotic space.
    Space,
    /// Typographic quote.
    Quote,
    /// Typographic dash.
    Dash,
    /// Compatibility form.
    Compatibility,
    /// Superscript or subscript.
    Script,
    /// Vulgar fraction.
    Fraction,
    /// Enclosed alphanumeric.
    Enclosed,
    /// Letter that resembles a Latin one.
    Confusable,
    /// Canonical composition and order.
    Composition,
}

impl Kind {
    /// Every kind, in order.
    pub const ALL: [Kind; 15] = [
        Kind::Mojibake,
        Kind::Emoji,
        Kind::Symbol,
        Kind::Gloss,
        Kind::Control,
        Kind::Invisible,
        Kind::Space,
        Kind::Quote,
        Kind::Dash,
        Kind::Compatibility,
        Kind::Script,
        Kind::Fraction,
        Kind::Enclosed,
        Kind::Confusable,
        Kind::Composition,
    ];

    /// Its bit in a set of kinds.
    #[must_use]
    pub fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Its name in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mojibake => "mojibake",
            Kind::Control => "control",
            Kind::Invisible => "invisible",
            Kind::Space => "space",
            Kind::Quote => "quote",
            Kind::Dash => "dash",
            Kind::Compatibility => "compatibility",
            Kind::Script => "super_subscript",
            Kind::Fraction => "fraction",
            Kind::Enclosed => "enclosed",
            Kind::Composition => "composition",
            Kind::Confusable => "confusable",
            Kind::Emoji => "emoji",
            Kind::Symbol => "symbol",
            Kind::Gloss => "gloss",
        }
    }

    /// The reason for such a change, in words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Kind::Mojibake => "text that was read in another encoding than it was written in",
            Kind::Control => "control character",
            Kind::Invisible => "invisible character",
            Kind::Space => "space other than U+0020",
            Kind::Quote => "typographic quote",
            Kind::Dash => "typographic dash",
            Kind::Compatibility => "compatibility form (NFKC)",
            Kind::Script => "superscript or subscript",
            Kind::Fraction => "vulgar fraction",
            Kind::Enclosed => "enclosed character",
            Kind::Composition => "decomposed or misordered (NFC)",
            Kind::Confusable => "looks like a Latin letter (UTS #39)",
            Kind::Emoji => "name of the emoji (CLDR)",
            Kind::Symbol => "name of the symbol (CLDR)",
            Kind::Gloss => "gloss of the request",
        }
    }
}
