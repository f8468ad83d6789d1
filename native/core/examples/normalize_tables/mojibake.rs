//! Text decoded with the wrong encoding: the encodings, and the characters that show it.

use std::collections::BTreeMap;

/// The single-byte encodings that UTF-8 is most often misread in, in the order in which they are tried. Bytes
/// without a character stand for the control character of their number, as the WHATWG has it.
pub fn encodings() -> Vec<(&'static str, Vec<char>)> {
    /// Code page 437, 0x80 to 0xFF (CP437.TXT of unicode.org).
    const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔\
╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}";
    let upper = |encoding: &'static encoding_rs::Encoding| -> Vec<char> {
        (0x80u8..=0xFF)
            .map(|byte| {
                let (text, _) = encoding.decode_without_bom_handling(std::slice::from_ref(&byte));
                let c = text.chars().next().expect("a character");
                if c == '\u{FFFD}' { char::from(byte) } else { c }
            })
            .collect()
    };
    vec![
        ("Latin-1", (0x80u8..=0xFF).map(char::from).collect()),
        ("Windows-1252", upper(encoding_rs::WINDOWS_1252)),
        ("Windows-1251", upper(encoding_rs::WINDOWS_1251)),
        ("Windows-1250", upper(encoding_rs::WINDOWS_1250)),
        ("Windows-1253", upper(encoding_rs::WINDOWS_1253)),
        ("Windows-1254", upper(encoding_rs::WINDOWS_1254)),
        ("Windows-1257", upper(encoding_rs::WINDOWS_1257)),
        ("ISO 8859-2", upper(encoding_rs::ISO_8859_2)),
        ("MacRoman", upper(encoding_rs::MACINTOSH)),
        ("code page 437", CP437.chars().collect()),
    ]
}

/// The classes by which `normalize/mojibake.rs` tells what nobody writes; their order is the bits'.
/// They are those of ftfy 6.3 (Robyn Speer, Apache-2.0), `ftfy/badness.py`.
const CLASSES: [&str; 14] = [
    // Common: appear in many contexts.
    "\u{A0}\u{AD}·´–—―…’",
    // C1 controls are added below.
    "",
    // Bad: hardly ever written.
    "¦¤¨¬¯¸ƒˆˇ˘˛˜†‡‰⌐◊\u{FFFD}ªº",
    // Law
    "¶§",
    // Currency
    "¢£¥₧€",
    // Punctuation that starts
    "¡«¿©΄΅‘‚“„•‹\u{F8FF}",
    // Punctuation that ends
    "®»˝”›™",
    // Numeric
    "²³¹±¼½¾×µ÷⁄∂∆∏∑√∞∩∫≈≠≡≤≥№",
    // Letters of faces
    "ÒÓÔÕÖÙÚÛÜòóôõöøùúûüŐŌŪŲ°",
    // Accented capitals
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑØÜÝĂĀĄĆČĎĐĘĚĒĖĞĢİĪĶĹĽŁĻŃŇŅŒŘŚŞŠŢŤŮŰŸŹŻŽҐ",
    // Accented small letters
    "ßàáâãäåæçèéêëìíîïðñăąāćčďđęěēėğģįīķĺľłļœŕśşšťüźżžґﬁﬂ",
    // Other capitals
    "ÞΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΆΈΉΊΌΎΏΪΫЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ",
    // Other small letters
    "αβγδεζηθικλμνξοπρςστυφχψωάέήίΰабвгдежзийклмнопрстуфхцчшщъыьэюяѐёђѓєѕіїјљњћќѝўџ",
    // Boxes
    "│┌┐┘├┤┬┼═║╒╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡╢╣╤╥╦╧╨╩╪╫╬▀▄█▌▐░▒▓",
];

/// Facts about the characters that matter to mojibake.
pub type Suspects = BTreeMap<char, (u16, u8, [u8; 10])>;

/// Every character that matters to mojibake: its classes, its places in UTF-8 sequences as the encodings from
/// Latin-1 to Windows-1257 show them, and its byte in each encoding (0: none).
pub fn suspects(encodings: &[(&str, Vec<char>)]) -> Suspects {
    const SOFT: &str = "–—―‘’‚“”„•…";
    let mut table = Suspects::new();
    for (bit, class) in CLASSES.iter().enumerate() {
        for c in class.chars() {
            table.entry(c).or_default().0 |= 1 << bit;
        }
    }
    for c in '\u{80}'..='\u{9F}' {
        table.entry(c).or_default().0 |= 2;
    }
    for (place, (_, characters)) in encodings.iter().enumerate() {
        for (byte, &c) in (0x80u8..=0xFF).zip(characters) {
            let entry = table.entry(c).or_default();
            entry.2[place] = byte;
            if place > 6 {
                continue;
            }
            entry.1 |= match byte {
                0x80..=0xBF if SOFT.contains(c) => 1,
                0x80..=0xBF => 3,
                0xC2..=0xDF => 4,
                0xE0..=0xEF => 8,
                0xF0 | 0xF3 => 16,
                _ => 0,
            };
        }
    }
    // Byte 1A stands for what Windows' encodings have lost.
    table.entry('\u{FFFD}').or_default().2[1..7].fill(0x1A);
    table
}
