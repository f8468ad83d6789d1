//! Surface forms and the words that stand for them, and the search for the forms in a text: from left to
//! right, the longest at each place. Callers choose forms and texts, so neither the time that the forms take,
//! nor their memory, nor the search may be worse than by their bytes, whatever they are.
//!
//! The forms are a trie whose nodes are the places where forms end or part: at most two for a form, however
//! long it is. An automaton with a state for each byte takes fifty times the bytes of the forms. Each place
//! of the text costs the nodes that are visited from it. They are counted, and the search ends if there are
//! too many, which only few forms and texts cause.

use std::cell::Cell;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Most steps of a search for each byte of the text, where a caller chose both. A step takes about 3 ns.
/// Thousands of a language's words take two for each byte.
pub const MOST_STEPS_PER_BYTE: usize = 8;

/// Bytes that one step compares.
const COMPARED: usize = 32;

/// Most nodes below one that are looked at one by one.
const FEW: usize = 8;

/// Bits of [`Forms::begun`].
const BITS: usize = 1 << 16;

/// The bit of three bytes: different ones for those that differ only in the third, in one block of 256.
#[inline]
fn bit(first: u8, second: u8, third: u8) -> usize {
    let pair = u32::from(first) << 8 | u32::from(second);
    (pair.wrapping_mul(0x9E37_79B1) >> 16) as usize ^ usize::from(third)
}

/// No form ends at a node.
const NONE: u32 = u32::MAX;

/// A form and its word, one after the other in [`Pairs::text`].
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    middle: u32,
    end: u32,
}

impl Entry {
    fn form(self) -> Range<usize> {
        self.start as usize..self.middle as usize
    }

    fn word(self) -> Range<usize> {
        self.middle as usize..self.end as usize
    }
}

/// Forms and their words, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    text: String,
    entries: Vec<Entry>,
}

impl Pairs {
    /// Adds a form and its word.
    ///
    /// # Panics
    /// If there are 4 GiB of them; no body is as long.
    pub fn add(&mut self, form: &str, word: &str) {
        let place = |length: usize| u32::try_from(length).expect("less than 4 GiB of forms and words");
        let start = place(self.text.len());
        self.text.push_str(form);
        let middle = place(self.text.len());
        self.text.push_str(word);
        let end = place(self.text.len());
        self.entries.push(Entry { start, middle, end });
    }

    /// Forgets all pairs.
    pub fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All forms and words, one after the other.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = &self.text;
        self.entries
            .iter()
            .map(|entry| (&text[entry.form()], &text[entry.word()]))
    }

    /// Sorts by form; of equal forms the last stays, and no empty one.
    fn sort(&mut self) {
        let text = self.text.as_bytes();
        self.entries.retain(|entry| entry.start < entry.middle);
        self.entries.sort_unstable_by(|one, other| {
            let forms = text[one.form()].cmp(&text[other.form()]);
            forms.then(other.start.cmp(&one.start))
        });
        self.entries
            .dedup_by(|next, kept| text[next.form()] == text[kept.form()]);
        self.entries.shrink_to_fit();
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        let mut all = Pairs::default();
        pairs.into_iter().for_each(|(form, word)| all.add(form, word));
        all
    }
}

/// A node of the trie: bytes with which one form or more begin.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Place of a form that begins with these bytes, in the text of the pairs.
    start: u32,
    /// How many they are.
    depth: u32,
    /// The first of the nodes below, which are beside each other, as many as there are to the first node
    /// below the next one.
    below: u32,
    /// The form that ends here, or [`NONE`].
    form: u32,
}

/// A form that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Where it is in the text.
    pub place: Range<usize>,
    /// Its word.
    pub word: &'a str,
}

/// Forms, prepared for the search.
#[derive(Debug)]
pub struct Forms {
    pairs: Pairs,
    /// From the root on, level by level, and one more at the end.
    nodes: Vec<Node>,
    /// The byte that leads to each node from the one above.
    leads: Vec<u8>,
    /// By [`bit`]: a form may begin with these three bytes.
    begun: Vec<u64>,
}

impl Forms {
    /// Prepares forms. Of equal ones the last counts; an empty one never does.
    #[must_use]
    pub fn new(mut pairs: Pairs) -> Self {
        pairs.sort();
        let (nodes, leads) = trie(&pairs);
        let mut forms = Forms {
            pairs,
            nodes,
            leads,
            begun: vec![0; BITS / 64],
        };
        forms.begin();
        forms
    }

    /// Notes the first bytes of each form; after the end of a short one may come any.
    fn begin(&mut self) {
        let begun = &mut self.begun;
        let mut any_third = |first, second| {
            let block = bit(first, second, 0) / 256;
            begun[block * 4..][..4].fill(u64::MAX);
        };
        let text = self.pairs.text.as_bytes();
        let forms = self.pairs.entries.iter().map(|entry| &text[entry.form()]);
        for form in forms.clone() {
            match form {
                [first] => (0..=u8::MAX).for_each(|second| any_third(*first, second)),
                [first, second] => any_third(*first, *second),
                _ => {}
            }
        }
        for form in forms {
            if let [first, second, third, ..] = form {
                let bit = bit(*first, *second, *third);
                begun[bit / 64] |= 1 << (bit % 64);
            }
        }
    }

    /// Bytes of all forms together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pairs.entries.iter().map(|entry| entry.form().len()).sum()
    }

    /// The forms in a text, one after the other, without their overlaps. Each step of the search takes one of
    /// `left`; where none is left the search ends.
    pub fn find<'a>(&'a self, text: &'a str, left: &'a Cell<usize>) -> impl Iterator<Item = Found<'a>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = self.next(text.as_bytes(), from, left)?;
            from = found.place.end;
            Some(found)
        })
    }

    fn next(&self, text: &[u8], from: usize, left: &Cell<usize>) -> Option<Found<'_>> {
        let mut at = from;
        loop {
            at += self.candidate(&text[at..])?;
            let (longest, steps) = self.longest(&text[at..]);
            left.set(left.get().saturating_sub(steps));
            if left.get() == 0 {
                return None;
            }
            if let Some((form, length)) = longest {
                let word = self.pairs.entries[form as usize].word();
                return Some(Found {
                    place: at..at + length,
                    word: &self.pairs.text[word],
                });
            }
            at += 1;
        }
    }

    /// The first place where a form may begin, by three bytes.
    #[inline]
    fn candidate(&self, text: &[u8]) -> Option<usize> {
        let begun: &[u64; BITS / 64] = self.begun.as_slice().try_into().ok()?;
        let may_begin = |first, second, third| {
            let bit = bit(first, second, third);
            begun[bit / 64] >> (bit % 64) & 1 == 1
        };
        let mut triples = text.windows(3);
        if let Some(at) = triples.position(|bytes| may_begin(bytes[0], bytes[1], bytes[2])) {
            return Some(at);
        }
        // After the end any may come: only a form that is short can begin there.
        let after = text.len().saturating_sub(2);
        let place = match text[after..] {
            [first, second] if may_begin(first, second, 0) => after,
            [.., last] if may_begin(last, 0, 0) => text.len() - 1,
            _ => return None,
        };
        Some(place)
    }

    /// The longest form at the beginning of a text and its bytes, and the steps that it took.
    fn longest(&self, text: &[u8]) -> (Option<(u32, usize)>, usize) {
        let (mut node, mut depth, mut longest, mut steps) = (0, 0, None, 1);
        while let Some(&byte) = text.get(depth)
            && let Some(next) = self.below(node, byte)
        {
            let Node {
                start,
                depth: end,
                form,
                ..
            } = self.nodes[next];
            steps += 1;
            depth += 1;
            // Most nodes are one byte below the one above.
            if depth < end as usize {
                let label = &self.pairs.text.as_bytes()[start as usize + depth..(start + end) as usize];
                let (same, compared) = begins(&text[depth..], label);
                steps += compared;
                if !same {
                    break;
                }
                depth = end as usize;
            }
            node = next;
            if form != NONE {
                longest = Some((form, depth));
            }
        }
        (longest, steps)
    }

    /// The node below one to which a byte leads.
    #[inline]
    fn below(&self, node: usize, byte: u8) -> Option<usize> {
        let first = self.nodes[node].below as usize;
        let leads = &self.leads[first..self.nodes[node + 1].below as usize];
        let at = if leads.len() <= FEW {
            leads.iter().position(|&lead| lead == byte)
        } else {
            memchr::memchr(byte, leads)
        };
        at.map(|at| first + at)
    }
}

/// True if a text begins with a label, and the steps that it took to know.
#[inline]
fn begins(text: &[u8], label: &[u8]) -> (bool, usize) {
    if label.len() < COMPARED {
        return (text.starts_with(label), 0);
    }
    if text.len() < label.len() {
        return (false, 0);
    }
    let parts = text.chunks(COMPARED).zip(label.chunks(COMPARED));
    let same = parts.take_while(|(text, label)| text.starts_with(label)).count();
    (same == label.len().div_ceil(COMPARED), same)
}

/// Bytes from `depth` on that two forms have in common, and before.
fn common(one: &[u8], other: &[u8], depth: usize) -> usize {
    let (one, other) = (&one[depth..], &other[depth..]);
    let differ = one.iter().zip(other).position(|(one, other)| one != other);
    depth + differ.unwrap_or(one.len().min(other.len()))
}

/// The nodes of sorted forms, and the byte that leads to each.
fn trie(Pairs { text, entries }: &Pairs) -> (Vec<Node>, Vec<u8>) {
    let text = text.as_bytes();
    let form = |at: usize| &text[entries[at].form()];
    let most = entries.len() + entries.len() / 4 + 2;
    let (mut nodes, mut leads) = (Vec::with_capacity(most), Vec::with_capacity(most));
    // Until its turn comes, a node has the range of its forms in place of the form and of what is below.
    let mut push = |nodes: &mut Vec<Node>, lead, forms: Range<usize>, depth: usize| {
        nodes.push(Node {
            start: entries.get(forms.start).map_or(0, |entry| entry.start),
            // All fit: there are less than 4 GiB of forms.
            depth: depth as u32,
            below: forms.end as u32,
            form: forms.start as u32,
        });
        leads.push(lead);
    };
    push(&mut nodes, 0, 0..entries.len(), 0);
    let mut at = 0;
    while at < nodes.len() {
        let Node {
            depth,
            below,
            form: low,
            ..
        } = nodes[at];
        let (depth, mut low, high) = (depth as usize, low as usize, below as usize);
        (nodes[at].below, nodes[at].form) = (nodes.len() as u32, NONE);
        if low < high && form(low).len() == depth {
            nodes[at].form = low as u32;
            low += 1;
        }
        while low < high {
            let lead = form(low)[depth];
            let next = low + entries[low..high].partition_point(|entry| text[entry.form()][depth] == lead);
            let end = if next - low == 1 {
                form(low).len()
            } else {
                common(form(low), form(next - 1), depth + 1)
            };
            push(&mut nodes, lead, low..next, end);
            low = next;
        }
        at += 1;
    }
    let end = nodes.len();
    push(&mut nodes, 0, end..end, 0);
    (nodes, leads)
}
