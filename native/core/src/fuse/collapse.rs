//! Collapses docs that count as one.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use super::request::more::More;
use super::request::results::{Collapse, CollapseBy};
use super::spans::{with_str, with_text};
use super::workspace::Workspace;
use crate::unicode::fold::fold;
use crate::unicode::nfkc::nfkc;

impl Workspace {
    /// Keeps the best docs of each text or group. Texts and groups are compared by 64-bit hashes: among n of
    /// them, two share a hash by chance about once in 2^64 / n^2 requests.
    pub(super) fn collapse(&mut self, body: &[u8], more: &More, collapse: Collapse) {
        let seed = RandomState::new();
        let mut kept: HashMap<u64, usize> = HashMap::new();
        let mut order = std::mem::take(&mut self.order);
        order.retain(|&(_, doc)| {
            let key = match collapse.by {
                CollapseBy::Text => {
                    let text = self.lists.docs[doc as usize].text;
                    let hash = |text: &str| seed.hash_one(fold(&nfkc(text)));
                    Some(with_str(body, text, &mut self.unescaped, hash))
                }
                CollapseBy::Group => more.group(doc).map(|group| {
                    with_text(body, group, &mut self.unescaped, |text, range, _| {
                        seed.hash_one(&text[range])
                    })
                }),
            };
            let Some(key) = key else { return true };
            let count = kept.entry(key).or_default();
            *count += 1;
            *count <= collapse.keep
        });
        self.order = order;
    }
}
