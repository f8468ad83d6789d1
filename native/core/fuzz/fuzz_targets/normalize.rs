//! Normalization of any text, in every mode, with any glosses: applied backwards the changes restore it, a
//! second repair finds nothing, and the repair is the slow reading's.
#![no_main]

use fusegate_core::text::normalize::gloss::Glosses;
use fusegate_core::text::normalize::{Mode, naive};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str, &str, bool)| {
    let (text, surface, word, contextual) = input;
    naive::assert_sound(text, Mode::Repair, contextual, None);
    let glosses = Glosses::new([(surface, word)].into_iter().collect(), contextual);
    for mode in [Mode::Augment, Mode::Replace] {
        naive::assert_sound(text, mode, contextual, Some(&glosses));
    }
});
