//! Collapses docs that count as one.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::request::more::More;
use super::request::results::{Collapse, CollapseBy};
use super::spans::{with_str, with_text};
use super::workspace::Workspace;
use crate::unicode::fold::fold_nfkc;

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
                    let mut blocks = Blocks::new(seed.build_hasher());
                    with_str(body, text, &mut self.unescaped, |text| {
                        fold_nfkc(text, |part| blocks.add(part.as_bytes()));
                    });
                    Some(blocks.hash())
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

/// Hashes bytes that come in parts, in blocks of one length: the same bytes have one hash, whatever their
/// parts.
struct Blocks<H> {
    hasher: H,
    block: [u8; 512],
    filled: usize,
}

impl<H: Hasher> Blocks<H> {
    fn new(hasher: H) -> Self {
        let (block, filled) = ([0; 512], 0);
        Self {
            hasher,
            block,
            filled,
        }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = &mut self.block[self.filled..];
            let length = bytes.len().min(room.len());
            let (now, later) = bytes.split_at(length);
            room[..length].copy_from_slice(now);
            self.filled += length;
            if self.filled == self.block.len() {
                self.hasher.write(&self.block);
                self.filled = 0;
            }
            bytes = later;
        }
    }

    fn hash(mut self) -> u64 {
        self.hasher.write(&self.block[..self.filled]);
        self.hasher.write_usize(self.filled);
        self.hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use proptest::prelude::*;

    use super::*;

    fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        let mut blocks = Blocks::new(DefaultHasher::new());
        parts.into_iter().for_each(|part| blocks.add(part));
        blocks.hash()
    }

    proptest! {
        #[test]
        fn parts_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..3000), length in 1usize..1500) {
            prop_assert_eq!(hash(bytes.chunks(length)), hash([&bytes[..]]));
            prop_assert_ne!(hash(bytes.chunks(length)), hash([&bytes[..], b"a"]));
        }
    }
}
