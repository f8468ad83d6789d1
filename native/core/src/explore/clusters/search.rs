//! Searches in the tree of clusters: down the levels along the nearest nodes of each, then over the sketches
//! of the nearest clusters, then over the vectors with the best sketches. The cost is bounded except for the
//! number of levels, which grows with the logarithm of the number of fragments, and for hidden fragments near
//! the query, whose sketches are examined in addition.

use std::cmp::Ordering;
use std::io;

use super::sketch::{Asked, DISTANCES, GROUP, any_within, distances};
use super::{Clusters, MOST_LEVELS, Node, Nodes, PLACES, ROOT, SAME};
use crate::cpu::simd::bring;
use crate::embed::static_model::Vector;
use crate::explore::nearest::{BLOCK, Best, Neighbour, similarities, square};
use crate::explore::vectors::{View, is_hidden};

/// How much of the index a search examines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For one of many searches of an answer, such as a walk's steps: about a millisecond.
    Quick,
    /// For the only search of an answer: a few milliseconds.
    Thorough,
}

/// The bounds of a search with an effort.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Nodes of a level whose halves are examined.
    pub(super) width: usize,
    /// Sketches to examine, as long as there are clusters.
    pub(super) sketches: usize,
    /// Vectors to compare: those with the best sketches.
    pub(super) compared: usize,
}

/// Least number of vectors to compare for each result.
const COMPARED_A_RESULT: usize = 32;

impl Effort {
    fn bounds(self) -> Bounds {
        match self {
            Self::Quick => Bounds {
                width: 256,
                sketches: 131_072,
                compared: 512,
            },
            Self::Thorough => Bounds {
                width: 4_096,
                sketches: 524_288,
                compared: 2_048,
            },
        }
    }
}

/// A node with data of its head, which is read once: later it is seldom still in the processor's caches.
struct Ranked {
    /// The similarity of its centroid.
    near: f64,
    id: u32,
    /// Its halves, if it is divided in the state that is searched.
    halves: Option<[u32; 2]>,
}

/// The nearest first; of equals the one that was made first.
fn order(a: &Ranked, b: &Ranked) -> Ordering {
    b.near.total_cmp(&a.near).then(a.id.cmp(&b.id))
}

/// A cluster in a state of the log, and its number of fragments there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Its centroid.
    pub middle: Vector,
    /// Number of its fragments.
    pub fragments: u32,
}

/// One search.
struct Search<'a> {
    nodes: Nodes,
    view: &'a View,
    query: (&'a Vector, u32),
    most: usize,
    /// Indexes of the fragments that it does not find, in order.
    hidden: &'a [u32],
    bounds: Bounds,
}

impl Search<'_> {
    fn count(&self) -> u32 {
        self.view.count() as u32
    }

    /// Nodes with their similarity; ids that do not exist, as in a damaged file, are left out.
    fn ranked(&self, ids: &[u32]) -> Vec<Ranked> {
        let mut all = Vec::with_capacity(ids.len());
        for ids in ids.chunks(BLOCK) {
            let found: Vec<(u32, Node<'_>)> = ids
                .iter()
                .filter_map(|&id| Some((id, self.nodes.at(id)?)))
                .inspect(|(_, node)| {
                    bring(node.head);
                    bring(node.middle);
                })
                .collect();
            let middles: Vec<&Vector> = found.iter().map(|(_, node)| node.middle).collect();
            let squares: Vec<u32> = found.iter().map(|(_, node)| node.head.square).collect();
            let mut near = [0.0; BLOCK];
            similarities(self.query, &middles, Some(&squares), &mut near);
            all.extend(found.iter().zip(near).map(|(&(id, node), near)| Ranked {
                near,
                id,
                halves: node.halves(self.count()),
            }));
        }
        all
    }

    /// The clusters to examine, nearest first, among the nearest `width` nodes of each level; and whether
    /// there are others.
    fn clusters(&self, width: usize) -> (Vec<Ranked>, bool) {
        let mut whole = Vec::new();
        let mut are_others = false;
        let mut level = self.ranked(&[ROOT]);
        for _ in 0..MOST_LEVELS {
            let mut below = Vec::new();
            for node in level {
                match node.halves {
                    Some(halves) => below.extend(halves),
                    None => whole.push(node),
                }
            }
            if below.is_empty() {
                break;
            }
            level = self.ranked(&below);
            if level.len() > width {
                level.select_nth_unstable_by(width, order);
                level.truncate(width);
                are_others = true;
            }
        }
        whole.sort_unstable_by(order);
        (whole, are_others)
    }

    /// Compares the vectors at ascending indexes.
    fn compare(&self, places: &[u32], best: &mut Best) {
        for places in places.chunks(BLOCK) {
            let vectors = places.iter().map(|&at| self.view.vector(at as usize));
            let vectors: Vec<&Vector> = vectors.inspect(|one| bring(*one)).collect();
            let mut near = [0.0; BLOCK];
            similarities(self.query, &vectors, None, &mut near);
            for (&index, similarity) in places.iter().zip(near) {
                best.offer_unordered(Neighbour { index, similarity });
            }
        }
    }

    /// Offers the first visible fragments of a node of one vector, at most `self.most`.
    fn take_same(&self, (near, node): (f64, Node<'_>), best: &mut Best) {
        let count = self.count();
        let places = chain(&self.nodes, node)
            .flat_map(|node| node.places())
            .take_while(|&place| place < count)
            .filter(|&place| !is_hidden(self.hidden, place))
            .take(self.most);
        for index in places {
            best.offer_unordered(Neighbour {
                index,
                similarity: near,
            });
        }
    }

    fn run(&self) -> Vec<Neighbour> {
        let mut width = self.bounds.width;
        loop {
            let (clusters, are_others) = self.clusters(width);
            let mut best = Best::new(self.most, 0.0);
            let seen = self.look_in(&clusters, &mut best);
            // Clusters of hidden fragments alone would be a wall around visible ones.
            if are_others && seen.are_few() && !self.hidden.is_empty() {
                width *= 2;
                continue;
            }
            self.compare(&seen.nearest(), &mut best);
            return best.take();
        }
    }

    /// Examines the sketches of clusters, and offers the fragments of those of one vector.
    fn look_in(&self, clusters: &[Ranked], best: &mut Best) -> Seen<'_> {
        let compared = self.bounds.compared.max(COMPARED_A_RESULT * self.most);
        let mut seen = Seen::new(compared, Asked::new(self.query.0), self.hidden);
        for (at, &Ranked { near, id, .. }) in clusters.iter().enumerate() {
            let Some(node) = self.nodes.at(id) else { continue };
            if let Some(next) = clusters.get(at + 1).and_then(|next| self.nodes.at(next.id)) {
                next.groups(next.before(self.count())).iter().for_each(bring);
            }
            if node.kind() == SAME {
                self.take_same((near, node), best);
            } else {
                seen.look(node, self.count());
            }
            if seen.sketches >= self.bounds.sketches {
                break;
            }
        }
        seen
    }
}

/// A sketch's distance, then its fragment's place: of equal distances the earlier fragment is nearer.
fn key(distance: u16, place: u32) -> u64 {
    u64::from(distance) << 32 | u64::from(place)
}

/// The nearest of the visible fragments whose sketches were examined.
struct Seen<'a> {
    asked: Asked,
    hidden: &'a [u32],
    /// Fragments to find.
    most: usize,
    /// Sketches examined so far, without those of hidden fragments that would be among the nearest.
    sketches: usize,
    /// Keys of those that may be among the nearest.
    kept: Vec<u64>,
    /// No key from here on is among the nearest.
    end: u64,
}

/// Distances that are checked together.
const CHUNK: usize = 64;

impl<'a> Seen<'a> {
    fn new(most: usize, asked: Asked, hidden: &'a [u32]) -> Self {
        Self {
            asked,
            hidden,
            most,
            sketches: 0,
            kept: Vec::with_capacity(2 * most + CHUNK),
            end: key(DISTANCES as u16, 0),
        }
    }

    /// Examines the sketches of a cluster's fragments among the first `count`.
    fn look(&mut self, node: Node<'_>, count: u32) {
        let before = node.before(count);
        let mut found = [0; PLACES];
        let full = node.groups(before);
        distances(&self.asked, full, &mut found);
        if full.len() * GROUP < before {
            let rest = &mut found[full.len() * GROUP..][..GROUP];
            distances(&self.asked, &[node.group(full.len())], rest);
        }
        self.sketches += before;
        for (chunk, distances) in found[..before].chunks(CHUNK).enumerate() {
            if any_within(distances, (self.end >> 32) as u16) {
                self.keep(distances, |at| node.place(chunk * CHUNK + at));
            }
        }
    }

    /// Keeps those of a chunk that may be among the nearest.
    fn keep(&mut self, distances: &[u16], place: impl Fn(usize) -> u32) {
        let reach = (self.end >> 32) as u16;
        let near = distances.iter().enumerate().filter(|(_, one)| **one <= reach);
        for key in near.map(|(at, &distance)| key(distance, place(at))) {
            if key >= self.end {
                continue;
            }
            if is_hidden(self.hidden, key as u32) {
                // Else hidden ones would end the search before it meets as many visible ones.
                self.sketches -= 1;
            } else {
                self.kept.push(key);
            }
        }
        if self.kept.len() >= 2 * self.most {
            self.narrow();
        }
    }

    /// Keeps only the nearest.
    fn narrow(&mut self) {
        if self.kept.len() > self.most {
            self.end = *self.kept.select_nth_unstable(self.most).1;
            self.kept.truncate(self.most);
        }
    }

    /// True if fewer visible ones than wanted were found.
    fn are_few(&self) -> bool {
        self.kept.len() < self.most
    }

    /// The places of the nearest, in the log's order.
    fn nearest(mut self) -> Vec<u32> {
        self.narrow();
        let mut places: Vec<u32> = self.kept.iter().map(|&key| key as u32).collect();
        places.sort_unstable();
        places
    }
}

/// A node of one vector and its chain.
fn chain<'a>(nodes: &'a Nodes, node: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    // A chain leads to later nodes: one that does not is damaged.
    std::iter::successors(Some((0, node)), |&(id, node)| {
        let next = node.head.next.load(std::sync::atomic::Ordering::Acquire);
        (next > id)
            .then(|| nodes.at(next))
            .flatten()
            .map(|node| (next, node))
    })
    .map(|(_, node)| node)
}

/// Number of a state's fragments in and below a node.
fn fragments(nodes: &Nodes, id: u32, count: u32) -> usize {
    let mut sum = 0;
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        let Some(node) = nodes.at(id) else { continue };
        match node.halves(count) {
            Some(halves) => open.extend(halves.iter().filter(|&&half| half > id)),
            None => sum += chain(nodes, node).map(|node| node.before(count)).sum::<usize>(),
        }
    }
    sum
}

impl Clusters {
    /// The nearest to a vector among the fragments of a view that are not `hidden` (indexes in order): the
    /// most similar first, of equal ones the earlier. All of the view must be in the index. Similarities are
    /// exact; a nearer fragment may be missed. Hidden ones take no place in the answer, nor among the vectors
    /// compared for it: they leave no gap, and no search for more results is needed.
    pub fn nearest(
        &self,
        (view, hidden): (&View, &[u32]),
        query: &Vector,
        most: usize,
        effort: Effort,
    ) -> io::Result<Vec<Neighbour>> {
        self.nearest_within((view, hidden), query, most, effort.bounds())
    }

    /// As [`Clusters::nearest`], with the bounds given.
    pub(super) fn nearest_within(
        &self,
        (view, hidden): (&View, &[u32]),
        query: &Vector,
        most: usize,
        bounds: Bounds,
    ) -> io::Result<Vec<Neighbour>> {
        let search = Search {
            nodes: self.file.get()?.nodes()?,
            view,
            query: (query, square(query)),
            most,
            hidden,
            bounds,
        };
        Ok(if most == 0 || search.query.1 == 0 {
            Vec::new()
        } else {
            search.run()
        })
    }

    /// Clusters that together have every fragment of a view: about `wanted`, at most twice as many. All
    /// fragments of the view must be in the index.
    pub fn clusters(&self, view: &View, wanted: usize) -> io::Result<Vec<Cluster>> {
        let nodes = self.file.get()?.nodes()?;
        let count = view.count() as u32;
        let mut level = vec![ROOT];
        for _ in 0..MOST_LEVELS {
            let halves = |&id: &u32| nodes.at(id).and_then(|node| node.halves(count));
            if level.len() >= wanted || level.iter().all(|id| halves(id).is_none()) {
                break;
            }
            level = level
                .iter()
                .flat_map(|id| halves(id).map_or_else(|| vec![*id], |halves| halves.to_vec()))
                .collect();
        }
        let cluster = |id: u32| {
            let fragments = fragments(&nodes, id, count) as u32;
            (fragments > 0).then_some(Cluster {
                middle: *nodes.at(id)?.middle,
                fragments,
            })
        };
        Ok(level.into_iter().filter_map(cluster).collect())
    }
}
