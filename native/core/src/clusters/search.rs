//! Searches in the tree of clusters: down the levels with the nearest nodes of each, then the sketches of the
//! nearest clusters, then the vectors with the best of these. The cost is bounded but for the levels, whose
//! number grows with the logarithm of the count.

use std::io;

use super::sketch::{Asked, DISTANCES, distances};
use super::{Clusters, MOST_LEVELS, Node, Nodes, PLACES, ROOT, SAME};
use crate::nearest::{BLOCK, Best, Neighbour, similarities, square};
use crate::static_model::Vector;
use crate::vectors::View;

/// How much a search looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// One of many for an answer, as a walk's steps are: about a millisecond.
    Quick,
    /// The only one for an answer: some milliseconds.
    Thorough,
}

/// The bounds of a search with an effort.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Nodes of a level that are gone down from.
    pub(super) width: usize,
    /// Sketches that are looked at, as long as there are clusters.
    pub(super) sketches: usize,
    /// Vectors that are compared: those with the best sketches.
    pub(super) compared: usize,
}

/// Vectors that are compared at least for each result.
const COMPARED_A_RESULT: usize = 32;

impl Effort {
    fn bounds(self) -> Bounds {
        match self {
            Self::Quick => Bounds {
                width: 512,
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

/// A node and how near its middle is.
type Ranked = (f64, u32);

/// The nearest first; of equals the one that was made first.
fn rank(nodes: &mut [Ranked]) {
    nodes.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
}

/// A cluster of a state, and its fragments there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Its middle.
    pub middle: Vector,
    /// Its fragments.
    pub fragments: u32,
}

/// One search.
struct Search<'a> {
    nodes: Nodes,
    view: &'a View,
    query: (&'a Vector, u32),
    most: usize,
    bounds: Bounds,
}

impl Search<'_> {
    fn count(&self) -> u32 {
        self.view.count() as u32
    }

    /// Nodes by their nearness; those that a damaged file names and does not have are left out.
    fn ranked(&self, ids: &[u32]) -> Vec<Ranked> {
        let mut all = Vec::with_capacity(ids.len());
        for ids in ids.chunks(BLOCK) {
            let found: Vec<(u32, &Node)> = ids
                .iter()
                .filter_map(|&id| Some((id, self.nodes.at(id)?)))
                .collect();
            let middles: Vec<&Vector> = found.iter().map(|(_, node)| &node.middle).collect();
            let squares: Vec<u32> = found.iter().map(|(_, node)| node.square).collect();
            let mut near = [0.0; BLOCK];
            similarities(self.query, &middles, &squares, &mut near);
            all.extend(found.iter().zip(near).map(|((id, _), near)| (near, *id)));
        }
        all
    }

    /// The clusters that are looked into, the nearest first.
    fn clusters(&self) -> Vec<Ranked> {
        let mut whole = Vec::new();
        let mut level = vec![(1.0, ROOT)];
        for _ in 0..MOST_LEVELS {
            let mut below = Vec::new();
            for (near, id) in level {
                match self.nodes.at(id).and_then(|node| node.halves(self.count())) {
                    Some(halves) => below.extend(halves),
                    None => whole.push((near, id)),
                }
            }
            if below.is_empty() {
                break;
            }
            level = self.ranked(&below);
            rank(&mut level);
            level.truncate(self.bounds.width);
        }
        rank(&mut whole);
        whole
    }

    /// Compares vectors at places in their order.
    fn compare(&self, places: &[u32], best: &mut Best) {
        for places in places.chunks(BLOCK) {
            let vectors: Vec<&Vector> = places.iter().map(|&at| self.view.vector(at as usize)).collect();
            let squares: Vec<u32> = places.iter().map(|&at| self.view.square(at as usize)).collect();
            let mut near = [0.0; BLOCK];
            similarities(self.query, &vectors, &squares, &mut near);
            for (&index, similarity) in places.iter().zip(near) {
                best.offer_unordered(Neighbour { index, similarity });
            }
        }
    }

    /// Takes the first fragments of a node of one vector, as many as are asked for.
    fn take_same(&self, node: &Node, best: &mut Best) {
        let mut near = [0.0; BLOCK];
        similarities(self.query, &[&node.middle], &[node.square], &mut near);
        let count = self.count();
        let places = chain(&self.nodes, node)
            .flat_map(|node| node.places())
            .take_while(|&place| place < count)
            .take(self.most);
        for index in places {
            best.offer_unordered(Neighbour {
                index,
                similarity: near[0],
            });
        }
    }

    fn run(&self) -> Vec<Neighbour> {
        let mut best = Best::new(self.most, 0.0);
        let mut seen = Seen::new(self.bounds.sketches.min(self.view.count()));
        let asked = Asked::new(self.query.0);
        for (_, id) in self.clusters() {
            let Some(node) = self.nodes.at(id) else { continue };
            if node.kind == SAME {
                self.take_same(node, &mut best);
            } else {
                seen.look(node, self.count(), &asked);
            }
            if seen.distances.len() >= self.bounds.sketches {
                break;
            }
        }
        let compared = self.bounds.compared.max(COMPARED_A_RESULT * self.most);
        self.compare(&seen.nearest(compared), &mut best);
        best.take()
    }
}

/// The fragments whose sketches were looked at.
struct Seen<'a> {
    /// Their clusters, and how many each has.
    clusters: Vec<(&'a Node, usize)>,
    /// Their sketches' distances, cluster after cluster.
    distances: Vec<u16>,
}

/// Distances that are looked at together.
const CHUNK: usize = 64;

impl<'a> Seen<'a> {
    /// Room for about so many.
    fn new(sketches: usize) -> Self {
        Self {
            clusters: Vec::new(),
            distances: Vec::with_capacity(sketches + PLACES),
        }
    }

    /// Looks at the sketches of a cluster's fragments among the first `count`.
    fn look(&mut self, node: &'a Node, count: u32, asked: &Asked) {
        let before = node.before(count);
        distances(asked, node.sketches(before), &mut self.distances);
        self.clusters.push((node, before));
    }

    /// The distance up to which all are among so many nearest, and how many of the next one are; the greatest
    /// distance where all are.
    fn reach(&self, most: usize) -> (u16, usize) {
        // Four counters, as one that is written at every step waits for itself.
        let mut counts = vec![[0_u32; 4]; DISTANCES];
        for (at, &distance) in self.distances.iter().enumerate() {
            counts[usize::from(distance)][at % 4] += 1;
        }
        let mut room = most;
        for (distance, counts) in (0..).zip(&counts) {
            let count = counts.iter().sum::<u32>() as usize;
            if count > room {
                return (distance, room);
            }
            room -= count;
        }
        (DISTANCES as u16, 0)
    }

    /// Places of so many with the least distances, of equals the earlier; in the log's order.
    fn nearest(&self, most: usize) -> Vec<u32> {
        let (reach, room) = self.reach(most);
        let (mut found, mut equals) = (Vec::with_capacity(most), Vec::new());
        let mut begin = 0;
        for &(node, count) in &self.clusters {
            let distances = &self.distances[begin..begin + count];
            begin += count;
            for (chunk, distances) in distances.chunks(CHUNK).enumerate() {
                if !distances.iter().fold(false, |any, &one| any | (one <= reach)) {
                    continue;
                }
                let near = distances.iter().enumerate().filter(|(_, one)| **one <= reach);
                for (at, &distance) in near {
                    let place = node.place(chunk * CHUNK + at);
                    let list = if distance < reach { &mut found } else { &mut equals };
                    list.push(place);
                }
            }
        }
        equals.sort_unstable();
        found.extend(equals.into_iter().take(room));
        found.sort_unstable();
        found
    }
}

/// A node of one vector and its chain.
fn chain<'a>(nodes: &'a Nodes, node: &'a Node) -> impl Iterator<Item = &'a Node> {
    // A chain leads to later nodes: one that does not is damaged.
    std::iter::successors(Some((0, node)), |&(id, node)| {
        let next = node.next.load(std::sync::atomic::Ordering::Acquire);
        (next > id)
            .then(|| nodes.at(next))
            .flatten()
            .map(|node| (next, node))
    })
    .map(|(_, node)| node)
}

/// Fragments of a state in a node and below it.
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
    /// The nearest to a vector among the fragments of a view, which must all be in the index: the most
    /// similar first, of equals the earlier. Similarities are exact; that no nearer one is left out is not
    /// sure.
    pub fn nearest(
        &self,
        view: &View,
        query: &Vector,
        most: usize,
        effort: Effort,
    ) -> io::Result<Vec<Neighbour>> {
        self.nearest_within(view, query, most, effort.bounds())
    }

    /// As [`Clusters::nearest`], within some bounds.
    pub(super) fn nearest_within(
        &self,
        view: &View,
        query: &Vector,
        most: usize,
        bounds: Bounds,
    ) -> io::Result<Vec<Neighbour>> {
        let search = Search {
            nodes: self.file.get()?.nodes()?,
            view,
            query: (query, square(query)),
            most,
            bounds,
        };
        Ok(if most == 0 || search.query.1 == 0 {
            Vec::new()
        } else {
            search.run()
        })
    }

    /// Clusters that have every fragment of a view between them, about `wanted` and at most twice as many.
    /// All fragments of the view must be in the index.
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
            let node = nodes.at(id)?;
            let fragments = fragments(&nodes, id, count) as u32;
            (fragments > 0).then_some(Cluster {
                middle: node.middle,
                fragments,
            })
        };
        Ok(level.into_iter().filter_map(cluster).collect())
    }
}
