//! Requests with analyzers, statistics by name, legs, boosts, `diversify` and `highlight`, made of random
//! bytes: what is answered is what the obvious reading finds.

use proptest::prelude::*;

#[path = "../fuzz/ranked.rs"]
mod ranked;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn requests_that_ask_for_more_are_answered_as_the_obvious_reading_does(
        bytes in prop::collection::vec(any::<u8>(), 0..900),
    ) {
        ranked::assert_ranked(&bytes);
    }
}
