//! Warnings that few requests have, written before the answer, so that their length is known.

use std::io::Write;

use super::request::unknown::Unknown;
use super::workspace::Workspace;
use crate::json::write_text;

impl Workspace {
    /// Writes the warning about docs of whose text a model read only the beginning.
    pub(super) fn note_truncated(&mut self, first: usize, count: usize) {
        let others = match count {
            1 => String::new(),
            2 => ", and of one more".to_owned(),
            more => format!(", and of {} more", more - 1),
        };
        // Writing to memory does not fail.
        let _ = write!(
            self.notes,
            ",{{\"code\":\"text_truncated\",\"message\":\"\
             The model read only the beginning of the text of docs.{first}{others}.\"}}"
        );
    }

    /// Writes a warning for each unknown member, up to a limit.
    pub(super) fn note_unknown(&mut self, unknown: &mut Unknown) {
        for stranger in unknown.named() {
            let owner = stranger.place.text();
            let mut message = Vec::new();
            // Writing to memory does not fail.
            let _ = write!(message, "\"{}\" is not a member of {owner}", stranger.name);
            let _ = match stranger.meant() {
                Some(meant) => write!(message, " and was ignored: is it \"{meant}\"?"),
                None => write!(message, " and was ignored."),
            };
            self.notes
                .extend_from_slice(b",{\"code\":\"unknown_field\",\"message\":\"");
            write_text(&message, &mut self.notes);
            self.notes.extend_from_slice(b"\"}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_about_long_texts_names_the_first_and_counts_the_others() {
        for (count, others) in [
            (1, ""),
            (2, ", and of one more"),
            (3, ", and of 2 more"),
            (1000, ", and of 999 more"),
        ] {
            let mut workspace = Workspace::default();
            workspace.note_truncated(7, count);
            let told = format!(
                ",{{\"code\":\"text_truncated\",\"message\":\"\
                 The model read only the beginning of the text of docs.7{others}.\"}}"
            );
            assert_eq!(String::from_utf8_lossy(&workspace.notes), told);
        }
    }
}
