//! The slow oracle of the tree: the definitions of RFC 6962, section 2.1, over all leaf hashes.

use super::{Hash, node_hash};
use sha2::{Digest, Sha256};

/// k of the definitions: the largest power of two smaller than n.
fn k(n: usize) -> usize {
    let mut k = 1;
    while 2 * k < n {
        k *= 2;
    }
    k
}

/// MTH(D\[n\]).
pub fn root(d: &[Hash]) -> Hash {
    match d.len() {
        0 => Sha256::digest([]).into(),
        1 => d[0],
        n => node_hash(&root(&d[..k(n)]), &root(&d[k(n)..])),
    }
}

/// PATH(m, D\[n\]).
pub fn path(m: usize, d: &[Hash]) -> Vec<Hash> {
    let n = d.len();
    if n == 1 {
        return Vec::new();
    }
    let k = k(n);
    let (mut path, other) = if m < k {
        (path(m, &d[..k]), root(&d[k..]))
    } else {
        (path(m - k, &d[k..]), root(&d[..k]))
    };
    path.push(other);
    path
}

/// PROOF(m, D\[n\]).
pub fn proof(m: usize, d: &[Hash]) -> Vec<Hash> {
    subproof(m, d, true)
}

fn subproof(m: usize, d: &[Hash], whole: bool) -> Vec<Hash> {
    let n = d.len();
    if m == n {
        return if whole { Vec::new() } else { vec![root(d)] };
    }
    let k = k(n);
    let (mut proof, other) = if m <= k {
        (subproof(m, &d[..k], whole), root(&d[k..]))
    } else {
        (subproof(m - k, &d[k..], false), root(&d[..k]))
    };
    proof.push(other);
    proof
}
