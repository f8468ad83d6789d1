//! Answers into room that suffices, and into room that does not at first.

use fusegate_core::fuse::{Embedding, Outcome, Workspace};

/// The outcome of a request, and its answer; empty if there is none.
///
/// # Panics
/// When either differs where the room does not suffice at first, nor at second where there are details.
pub fn answered(workspace: &mut Workspace, body: &[u8], embedding: Embedding<'_>) -> (Outcome, Vec<u8>) {
    let mut out = vec![0; 64 * body.len() + 65_536];
    let outcome = workspace.fuse(body, &mut out, embedding);
    let mut room = vec![0];
    let mut later = workspace.fuse(body, &mut room, embedding);
    let mut pending = None;
    if later == Outcome::Pending {
        let waiting = workspace.take_pending().expect("what is pending");
        later = Outcome::NeedsRoom(waiting.room());
        pending = Some(waiting);
    }
    if let Outcome::NeedsRoom(length) = later {
        room.resize(length, 0);
        later = match &mut pending {
            Some(pending) => workspace.answer_pending(pending, body, &mut room, embedding.models, false),
            None => workspace.fuse(body, &mut room, embedding),
        };
        room = workspace.take_answer().unwrap_or(room);
    }
    assert_eq!(later, outcome);
    out.truncate(match outcome {
        Outcome::Written { length, .. } => length,
        _ => 0,
    });
    assert_eq!(room[..out.len()], out[..]);
    (outcome, out)
}
