//! Counts without the fragments that the operator hides, which are given by index, in order.

use std::collections::{HashMap, HashSet};

use super::clusters::board::LISTED;
use super::vectors::{Standing, View, is_hidden};

/// The visible fragments of a visitor.
#[derive(Default)]
struct Visible {
    /// Index of the first.
    first: Option<u32>,
    contents: HashSet<u64>,
}

/// The visible fragments of each visitor who has hidden ones, counted as fragments are added.
#[derive(Default)]
pub struct HiddenVisitors {
    hidden: Vec<u32>,
    visitors: HashMap<u64, Visible>,
    /// Number of fragments that are counted.
    counted: usize,
}

impl HiddenVisitors {
    /// Counts the fragments of a view: only new ones, unless others are hidden than before.
    fn count(&mut self, view: &View, hidden: &[u32]) {
        if self.hidden != hidden || self.counted > view.count() {
            let visitor = |&index: &u32| view.facts(index as usize).visitor;
            let visitors = hidden.iter().map(visitor).filter(|&visitor| visitor != 0);
            *self = Self {
                hidden: hidden.to_vec(),
                visitors: visitors.map(|visitor| (visitor, Visible::default())).collect(),
                counted: 0,
            };
        }
        for index in self.counted..view.count() {
            let facts = view.facts(index);
            if let Some(visible) = self.visitors.get_mut(&facts.visitor)
                && !is_hidden(hidden, index as u32)
            {
                visible.first.get_or_insert(index as u32);
                visible.contents.insert(facts.content);
            }
        }
        self.counted = view.count();
    }

    /// The ranking `listed`, which counts hidden fragments, without them. `hidden`: those of the view. `None`
    /// if a visitor who is not listed might move up.
    pub fn ranked(&mut self, view: &View, hidden: &[u32], listed: &[Standing]) -> Option<Vec<Standing>> {
        self.count(view, hidden);
        let visible = |standing: &Standing| {
            let Some(Visible { first, contents }) = self.visitors.get(&standing.visitor) else {
                return Some(standing.clone());
            };
            Some(Standing {
                visitor: standing.visitor,
                fragments: contents.len() as u32,
                first: (*first)?,
            })
        };
        let mut ranked: Vec<Standing> = listed.iter().filter_map(visible).collect();
        ranked.sort();
        let stays = listed.len() < LISTED || (ranked.len() == LISTED && ranked.last() <= listed.last());
        stays.then_some(ranked)
    }
}
