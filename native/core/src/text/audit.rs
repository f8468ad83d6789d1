//! POST /v1/audit and `fusegate audit`: counts the defects in records that keep plain words from finding
//! them, with the same tokenizer and normalizer as search and repair.

pub mod analyzers;
pub mod asked;
pub mod copies;
pub mod csv;
mod detect;
pub mod examine;
pub mod excerpt;
pub mod format;
pub mod given;
pub mod html;
mod issue;
pub mod mask;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
pub mod records;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use analyzers::Analyzer;
use copies::{Copies, Seen};
use examine::{Examiner, Verdict};
use excerpt::{Example, edited, example};
use format::Fault;
pub use issue::Issue;
use records::{Batch, Records};

use super::normalize::{Mode, edits};
use crate::json;

/// Bytes that one thread examines at a time.
pub const BATCH_BYTES: usize = 256 << 10;

/// Bytes of a text that are cut while the previous ones are examined.
const ROUND_BYTES: usize = 4 << 20;

/// Most examples of an issue.
pub const EXAMPLES: usize = 5;

/// Findings in a set of records.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Findings {
    /// Number of records examined.
    pub records: u64,
    /// Their code points.
    pub characters: u64,
    /// Records with a word that, as people type it, is found only after normalization.
    pub gains: u64,
    /// Those records for which such a word is not just the name of an emoji or symbol.
    pub gains_own: u64,
    /// Records with each issue; copies are counted within [`Findings::sampled`].
    pub counts: [u64; Issue::ALL.len()],
    /// Number of records in which copies were counted: all, or a sample by text.
    pub sampled: u64,
    /// The first examples of each issue.
    pub examples: [Vec<Example>; Issue::ALL.len()],
}

impl Findings {
    /// Adds the findings of the records that follow.
    fn then(&mut self, next: Findings) {
        self.records += next.records;
        self.characters += next.characters;
        self.gains += next.gains;
        self.gains_own += next.gains_own;
        for (sum, count) in self.counts.iter_mut().zip(next.counts) {
            *sum += count;
        }
        for (kept, more) in self.examples.iter_mut().zip(next.examples) {
            kept.extend(more);
            kept.truncate(EXAMPLES);
        }
    }
}

/// The findings of one thread in a batch; copies are found later, when the batches are back in order.
struct Part {
    findings: Findings,
    texts: Vec<[u64; 2]>,
}

/// An audit in progress.
#[derive(Debug, Default)]
pub struct Audit {
    analyzer: Analyzer,
    findings: Findings,
    copies: Copies,
}

impl Audit {
    /// An audit by the rules of an analyzer.
    #[must_use]
    pub fn new(analyzer: Analyzer) -> Self {
        Audit {
            analyzer,
            ..Audit::default()
        }
    }

    /// Examines the next records, on `threads` threads.
    pub fn add(&mut self, batches: &[Batch], threads: usize) {
        let next = AtomicUsize::new(0);
        let wanted = self.wanted();
        let work = || {
            let mut examiner = Examiner::new(self.analyzer);
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = batches.get(at) else { return done };
                done.push((at, part(batch, &mut examiner, wanted)));
            }
        };
        let mut parts: Vec<(usize, Part)> = std::thread::scope(|scope| {
            let helpers = threads.min(batches.len()).saturating_sub(1);
            let others: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            let mut parts = work();
            for other in others {
                match other.join() {
                    Ok(more) => parts.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            parts
        });
        parts.sort_by_key(|(at, _)| *at);
        for (at, part) in parts {
            self.count_copies(&batches[at], &part.texts);
            self.findings.then(part.findings);
        }
    }

    /// The issues that still need examples.
    fn wanted(&self) -> u16 {
        let short = |issue: &Issue| self.findings.examples[*issue as usize].len() < EXAMPLES;
        Issue::ALL
            .into_iter()
            .filter(short)
            .fold(0, |set, issue| set | issue.bit())
    }

    fn count_copies(&mut self, batch: &Batch, texts: &[[u64; 2]]) {
        for (at, &[exact, repaired]) in texts.iter().enumerate() {
            let issue = match self.copies.add(exact, repaired) {
                Seen::Never => continue,
                Seen::Exactly => Issue::ExactCopy,
                Seen::Repaired => Issue::RepairedCopy,
            };
            let examples = &mut self.findings.examples[issue as usize];
            if examples.len() < EXAMPLES {
                let record = batch.record(at);
                examples.push(example(record, &edited(record), issue));
            }
        }
    }

    /// Findings so far.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let mut findings = self.findings.clone();
        let copies = self.copies.count();
        findings.counts[Issue::ExactCopy as usize] = copies.exact;
        findings.counts[Issue::RepairedCopy as usize] = copies.repaired;
        findings.sampled = copies.sampled;
        findings
    }
}

/// Examines one batch, with examples of the issues in `wanted`.
fn part(batch: &Batch, examiner: &mut Examiner, wanted: u16) -> Part {
    let mut findings = Findings::default();
    let mut texts = Vec::with_capacity(batch.len());
    for record in batch.iter() {
        let verdict = examiner.examine(record);
        texts.push(verdict.texts);
        count(&mut findings, record, &verdict, wanted);
    }
    Part { findings, texts }
}

fn count(findings: &mut Findings, record: &str, verdict: &Verdict, wanted: u16) {
    findings.records += 1;
    findings.characters += crate::cpu::scan::code_points(record.as_bytes());
    findings.gains += u64::from(verdict.gains);
    findings.gains_own += u64::from(verdict.gains_own);
    if verdict.issues == 0 {
        return;
    }
    let mut all = None;
    for issue in Issue::ALL {
        if verdict.issues & issue.bit() == 0 {
            continue;
        }
        findings.counts[issue as usize] += 1;
        let examples = &mut findings.examples[issue as usize];
        if wanted & issue.bit() != 0 && examples.len() < EXAMPLES {
            let all = all.get_or_insert_with(|| edited(record));
            examples.push(example(record, all, issue));
        }
    }
}

/// An audit of a text of any length: the next part is read and cut while the current one is examined.
pub struct TextAudit<R> {
    records: Records<R>,
    audit: Audit,
    current: Vec<Batch>,
}

impl<R: Read + Send> TextAudit<R> {
    /// An audit of a text, before its first step.
    #[must_use]
    pub fn new(records: Records<R>, analyzer: Analyzer) -> Self {
        TextAudit {
            records,
            audit: Audit::new(analyzer),
            current: Vec::new(),
        }
    }

    /// Examines the next part of the text on `threads` threads; true if there was one.
    ///
    /// # Errors
    /// The next part of the text is not in the format.
    pub fn step(&mut self, threads: usize) -> Result<bool, Fault> {
        let current = std::mem::take(&mut self.current);
        let (records, audit) = (&mut self.records, &mut self.audit);
        let next = std::thread::scope(|scope| {
            let reading = scope.spawn(|| round(records));
            audit.add(&current, threads);
            reading.join()
        });
        match next {
            Ok(next) => self.current = next?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(!self.current.is_empty())
    }

    /// The text's reader.
    #[must_use]
    pub fn records(&self) -> &Records<R> {
        &self.records
    }

    /// Findings so far.
    #[must_use]
    pub fn findings(&self) -> Findings {
        self.audit.findings()
    }
}

/// The records of the next part of a text.
fn round<R: Read>(records: &mut Records<R>) -> Result<Vec<Batch>, Fault> {
    let mut batches = Vec::new();
    let mut bytes = 0;
    while bytes < ROUND_BYTES {
        let mut batch = Batch::default();
        records.fill(&mut batch, BATCH_BYTES)?;
        if batch.is_empty() {
            break;
        }
        bytes += batch.bytes() + batch.len();
        batches.push(batch);
    }
    Ok(batches)
}

/// All records of a text in memory.
///
/// # Errors
/// It is not in its format.
pub fn cut<R: Read>(records: &mut Records<R>) -> Result<Vec<Batch>, Fault> {
    let mut all = Vec::new();
    loop {
        let batches = round(records)?;
        if batches.is_empty() {
            return Ok(all);
        }
        all.extend(batches);
    }
}

/// The records of a list.
#[must_use]
pub fn listed<Record: AsRef<str>>(records: impl IntoIterator<Item = Record>) -> Vec<Batch> {
    let mut batches = vec![Batch::default()];
    for record in records {
        if batches.last().is_some_and(|last| last.bytes() >= BATCH_BYTES / 4) {
            batches.push(Batch::default());
        }
        if let Some(last) = batches.last_mut() {
            last.push(record.as_ref());
        }
    }
    batches
}

/// The normalized records (mode `augment`).
#[must_use]
pub fn normalized(batches: &[Batch]) -> Vec<String> {
    let mut all = Vec::new();
    for record in batches.iter().flat_map(Batch::iter) {
        let mut text = Vec::new();
        augment(record, &mut text);
        all.push(String::from_utf8(text).unwrap_or_default());
    }
    all
}

/// Normalized records one a line: line feeds inside a record become spaces.
#[must_use]
pub fn as_lines(records: &[String]) -> String {
    let lines: Vec<String> = records.iter().map(|record| record.replace('\n', " ")).collect();
    lines.join("\n")
}

/// Appends [`normalized`] to `out` as JSON, then the member `text` with [`as_lines`] of it. The second is
/// copied from the first, so that an answer needs no further memory.
pub fn write_normalized(batches: &[Batch], out: &mut Vec<u8>) {
    let (mut plain, mut written) = (Vec::new(), Vec::new());
    out.push(b'[');
    for (at, record) in batches.iter().flat_map(Batch::iter).enumerate() {
        out.extend_from_slice(if at > 0 { b",\"" } else { b"\"" });
        plain.clear();
        augment(record, &mut plain);
        let start = out.len();
        json::write_text(&plain, out);
        written.push(start..out.len());
        out.push(b'"');
    }
    out.extend_from_slice(b"],\"text\":\"");
    for (at, span) in written.into_iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"\\n" } else { b"" });
        copy_as_line(span, out);
    }
    out.push(b'"');
}

/// Appends a copy of the contents of a JSON string in `out`, with line feeds as spaces.
fn copy_as_line(mut span: Range<usize>, out: &mut Vec<u8>) {
    while let Some(at) = memchr::memchr(b'\\', &out[span.clone()]) {
        let escape = span.start + at;
        out.extend_from_within(span.start..escape);
        if out[escape + 1] == b'n' {
            out.push(b' ');
        } else {
            out.extend_from_within(escape..escape + 2);
        }
        span.start = escape + 2;
    }
    out.extend_from_within(span);
}

/// Appends a record in normalized form.
fn augment(record: &str, out: &mut Vec<u8>) {
    edits(record, Mode::Augment, true, None).apply(record.as_bytes(), out);
}
