//! Values that several members have: words of a closed list, numbers within bounds, texts.

use crate::json::{Scanner, Span, Unfit};

/// The span of a member that is absent.
pub(crate) const NOWHERE: Span = Span {
    start: usize::MAX,
    end: usize::MAX,
    escaped: false,
    ascii: true,
};

/// Reads a string that is one of a closed list.
pub(super) fn word<T: Copy, const COUNT: usize>(
    scanner: &mut Scanner,
    known: &[(&[u8], T); COUNT],
) -> Result<T, Unfit> {
    let text = scanner.string()?;
    let place = scanner.place(text, &known.each_ref().map(|(word, _)| *word));
    place.map(|place| known[place].1).ok_or(Unfit)
}

pub(super) fn number(scanner: &mut Scanner, least: f64, most: f64) -> Result<f64, Unfit> {
    let value = scanner.number()?;
    if (least..=most).contains(&value) {
        Ok(value + 0.0)
    } else {
        Err(Unfit)
    }
}

/// Reads a whole number.
pub(super) fn whole(scanner: &mut Scanner, least: f64, most: f64) -> Result<f64, Unfit> {
    let value = number(scanner, least, most)?;
    if value.fract() == 0.0 {
        Ok(value)
    } else {
        Err(Unfit)
    }
}
