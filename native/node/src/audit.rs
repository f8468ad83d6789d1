//! Binding of `fusegate_core::text::audit`.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use fusegate_core::text::audit::analyzers::Analyzer;
use fusegate_core::text::audit::format::{Fault, Format};
use fusegate_core::text::audit::given::{Given, given};
use fusegate_core::text::audit::records::{Batch, Records};
use fusegate_core::text::audit::{self, Audit, Findings, Issue, TextAudit};
use napi::bindgen_prelude::{AsyncTask, Buffer};
use napi::{Env, Result, Task};
use napi_derive::napi;

/// Part of a record before and after normalization, with personal data masked.
#[napi(object)]
pub struct AuditExample {
    /// The part before.
    pub before: String,
    /// The part after.
    pub after: String,
}

/// Number of records that show an issue.
#[napi(object)]
pub struct AuditIssueCount {
    /// The issue's name in answers.
    pub issue: String,
    /// Records that show it; duplicates are counted in the sample.
    pub count: f64,
    /// Up to 5 of them.
    pub examples: Vec<AuditExample>,
}

/// The findings of an audit.
#[napi(object)]
pub struct AuditFindings {
    /// Number of records examined.
    pub records: f64,
    /// Their code points.
    pub characters: f64,
    /// Records with a word that, as people type it, is found only after normalization.
    pub gains: f64,
    /// Those records for which such a word is not just the name of an emoji or symbol.
    pub gains_own: f64,
    /// Size of the sample in which duplicates were counted.
    pub sampled: f64,
    /// Every issue, in the order of reports.
    pub issues: Vec<AuditIssueCount>,
    /// The format by which the text was cut into records; null for a list of records.
    pub format: Option<String>,
    /// The separator of a row's fields; null if there is none.
    pub separator: Option<String>,
}

/// The findings of an audit, or the reason for their absence.
#[napi(object)]
pub struct AuditOutcome {
    /// Null if there is a fault.
    pub findings: Option<AuditFindings>,
    /// The normalized records; null if not requested.
    pub texts: Option<Vec<String>>,
    /// The same, one a line.
    pub text: Option<String>,
    /// Why the text cannot be cut into records.
    pub fault: Option<String>,
}

fn findings_of(found: Findings, format: Option<(Format, Option<u8>)>) -> AuditFindings {
    let examples = found.examples.into_iter();
    let issues = Issue::ALL.into_iter().zip(found.counts).zip(examples);
    AuditFindings {
        records: found.records as f64,
        characters: found.characters as f64,
        gains: found.gains as f64,
        gains_own: found.gains_own as f64,
        sampled: found.sampled as f64,
        issues: issues
            .map(|((issue, count), examples)| AuditIssueCount {
                issue: issue.name().to_owned(),
                count: count as f64,
                examples: examples
                    .into_iter()
                    .map(|example| AuditExample {
                        before: example.before,
                        after: example.after,
                    })
                    .collect(),
            })
            .collect(),
        format: format.map(|(format, _)| format.name().to_owned()),
        separator: format.and_then(|(_, separator)| separator.map(|byte| char::from(byte).to_string())),
    }
}

fn outcome(
    batches: &[Batch],
    format: Option<(Format, Option<u8>)>,
    stack: &str,
    include_text: bool,
    threads: u32,
) -> AuditOutcome {
    let mut made = Audit::new(Analyzer::of_stack(stack));
    made.add(batches, threads as usize);
    let texts = include_text.then(|| audit::normalized(batches));
    AuditOutcome {
        findings: Some(findings_of(made.findings(), format)),
        text: texts.as_deref().map(audit::as_lines),
        texts,
        fault: None,
    }
}

/// Version of the CLDR names that emoji and symbols are glossed with, such as `48.2.0`.
#[napi]
pub fn cldr_version() -> String {
    fusegate_core::text::normalize::CLDR_VERSION.to_owned()
}

/// Audits a list of records on `threads` threads, by the default analyzer of a stack; an unknown one counts
/// as `custom`.
#[napi]
pub fn audit_records(records: Vec<String>, stack: String, include_text: bool, threads: u32) -> AuditOutcome {
    let batches = audit::listed(records.iter().map(String::as_str));
    outcome(&batches, None, &stack, include_text, threads)
}

/// Outcome of [`audit_body`].
#[napi(object)]
pub struct BodyAudit {
    /// Null if there is a fault.
    pub findings: Option<AuditFindings>,
    /// JSON of the normalized records, then the member `text` with the same, one a line; null if not
    /// requested, or if long.
    pub texts: Option<String>,
    /// If they are long: the requested room, then that JSON and a brace.
    pub long_texts: Option<Buffer>,
    /// Why the text cannot be cut into records.
    pub fault: Option<String>,
}

/// A FreeAuditRequest in the thread pool.
pub struct BodyAuditTask {
    body: Buffer,
    format: Option<Format>,
    analyzer: Analyzer,
    room: Option<usize>,
    threads: usize,
}

/// Longest text that becomes a JavaScript string (bytes).
const SHORT_TEXT: usize = 64 << 10;

/// The findings, and the normalized text.
type Audited = (Findings, Option<(Format, Option<u8>)>, Option<Vec<u8>>);

impl BodyAuditTask {
    fn audit(&self) -> std::result::Result<Audited, String> {
        let cut = |text: String| {
            let mut records = Records::open(text.as_bytes(), self.format)?;
            let batches = audit::cut(&mut records)?;
            Ok((batches, Some((records.format(), records.separator()))))
        };
        let (batches, format) = match given(&self.body) {
            Ok(Given::Records(batches)) => (batches, None),
            Ok(Given::Text(text)) => cut(text).map_err(|fault: Fault| fault.to_string())?,
            Err(_) => return Err("it does not fit its shape".to_owned()),
        };
        let mut made = Audit::new(self.analyzer);
        made.add(&batches, self.threads);
        let text = self.room.map(|room| {
            let mut text = vec![b' '; room];
            audit::write_normalized(&batches, &mut text);
            text.push(b'}');
            text
        });
        Ok((made.findings(), format, text))
    }
}

impl Task for BodyAuditTask {
    type Output = std::result::Result<Audited, String>;
    type JsValue = BodyAudit;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(self.audit())
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> Result<Self::JsValue> {
        let room = self.room.unwrap_or(0);
        Ok(match outcome {
            Ok((findings, format, text)) => {
                let is_long = text.as_ref().is_some_and(|text| text.len() - room > SHORT_TEXT);
                let (short, long) = if is_long { (None, text) } else { (text, None) };
                BodyAudit {
                    findings: Some(findings_of(findings, format)),
                    texts: short
                        .map(|text| String::from_utf8_lossy(&text[room..text.len() - 1]).into_owned()),
                    long_texts: long.map(Buffer::from),
                    fault: None,
                }
            }
            Err(fault) => BodyAudit {
                findings: None,
                texts: None,
                long_texts: None,
                fault: Some(fault),
            },
        })
    }
}

/// Audits a schema-valid body in the thread pool, on `threads` threads. `room`: bytes left free before the
/// normalized texts, if they are requested and long; short ones are returned as JSON. `body` must not change
/// until the promise settles.
#[napi(ts_return_type = "Promise<BodyAudit>")]
pub fn audit_body(
    body: Buffer,
    format: String,
    stack: String,
    room: Option<u32>,
    threads: u32,
) -> AsyncTask<BodyAuditTask> {
    AsyncTask::new(BodyAuditTask {
        body,
        format: Format::named(&format),
        analyzer: Analyzer::of_stack(&stack),
        room: room.map(|room| room as usize),
        threads: threads as usize,
    })
}

/// Audits the records of a text as [`audit_records`] does. If `format` is unknown, the format is detected.
#[napi]
pub fn audit_text(
    text: String,
    format: String,
    stack: String,
    include_text: bool,
    threads: u32,
) -> AuditOutcome {
    let cut = Records::open(text.as_bytes(), Format::named(&format)).and_then(|mut records| {
        let batches = audit::cut(&mut records)?;
        Ok((batches, (records.format(), records.separator())))
    });
    match cut {
        Ok((batches, format)) => outcome(&batches, Some(format), &stack, include_text, threads),
        Err(fault) => AuditOutcome {
            findings: None,
            texts: None,
            text: None,
            fault: Some(fault.to_string()),
        },
    }
}

/// Progress of an audit of a file.
#[napi(object)]
pub struct FileAuditStep {
    /// Bytes of the file that have become records.
    pub bytes: f64,
    /// True if the file has more to audit.
    pub more: bool,
    /// Why the file cannot be cut into records; the audit ends with it.
    pub fault: Option<String>,
}

/// An audit of a file of any size, in bounded memory.
#[napi]
pub struct FileAudit {
    path: String,
    format: Option<Format>,
    analyzer: Analyzer,
    state: Arc<Mutex<Option<TextAudit<File>>>>,
}

#[napi]
impl FileAudit {
    /// Opens nothing yet. If `format` is unknown, the format is detected.
    #[napi(constructor)]
    pub fn new(path: String, format: String, stack: String) -> Self {
        FileAudit {
            path,
            format: Format::named(&format),
            analyzer: Analyzer::of_stack(&stack),
            state: Arc::default(),
        }
    }

    /// Audits the next part of the file on `threads` threads, while the following part is read. Only one step
    /// may run at a time.
    #[napi(ts_return_type = "Promise<FileAuditStep>")]
    pub fn step(&self, threads: u32) -> AsyncTask<StepTask> {
        AsyncTask::new(StepTask {
            path: self.path.clone(),
            format: self.format,
            analyzer: self.analyzer,
            state: Arc::clone(&self.state),
            threads: threads as usize,
        })
    }

    /// The findings so far; null before the first step.
    #[napi]
    pub fn findings(&self) -> Option<AuditFindings> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let audit = state.as_ref()?;
        let format = (audit.records().format(), audit.records().separator());
        Some(findings_of(audit.findings(), Some(format)))
    }
}

/// A step in the thread pool.
pub struct StepTask {
    path: String,
    format: Option<Format>,
    analyzer: Analyzer,
    state: Arc<Mutex<Option<TextAudit<File>>>>,
    threads: usize,
}

impl StepTask {
    fn step(&self) -> std::result::Result<(u64, bool), Fault> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let audit = match state.take() {
            Some(audit) => audit,
            None => {
                let unreadable = |error: std::io::Error| Fault::Unreadable(error.to_string());
                let file = File::open(&self.path).map_err(unreadable)?;
                TextAudit::new(Records::open(file, self.format)?, self.analyzer)
            }
        };
        let audit = state.insert(audit);
        let more = audit.step(self.threads)?;
        Ok((audit.records().position(), more))
    }
}

impl Task for StepTask {
    type Output = std::result::Result<(u64, bool), Fault>;
    type JsValue = FileAuditStep;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(self.step())
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> Result<Self::JsValue> {
        Ok(match outcome {
            Ok((bytes, more)) => FileAuditStep {
                bytes: bytes as f64,
                more,
                fault: None,
            },
            Err(fault) => FileAuditStep {
                bytes: 0.0,
                more: false,
                fault: Some(fault.to_string()),
            },
        })
    }
}
