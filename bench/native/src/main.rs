//! One request of POST /v1/fuse as tantivy answers it: an in-memory index of the request's documents, BM25,
//! max-norm fusion, JSON out. Driven over JSON lines by `bench/inprocess.ts`.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tantivy::query::{BooleanQuery, EnableScoring, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::TokenStream;
use tantivy::{Index, Searcher, TantivyDocument, Term};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Bytes that the index writer may hold before it would flush: more than any body of the benchmark needs.
const WRITER_BUDGET: usize = 100_000_000;

#[derive(Deserialize)]
struct Request {
    query: String,
    docs: Vec<Doc>,
}

#[derive(Deserialize)]
struct Doc {
    id: String,
    text: String,
    dense_score: f64,
}

#[derive(Serialize)]
struct Response<'a> {
    query: &'a str,
    method: &'static str,
    tokenizer: &'static str,
    dense_source: &'static str,
    results: Vec<Ranked<'a>>,
}

#[derive(Serialize)]
struct Ranked<'a> {
    id: &'a str,
    text: &'a str,
    dense_score: f64,
    bm25_score: f64,
    fused_score: f64,
    rank: usize,
}

/// The index's one field, its terms with their frequencies and no positions: what BM25 needs and no more.
fn schema() -> (Schema, Field) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("default")
        .set_index_option(IndexRecordOption::WithFreqs);
    let text = builder.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    (builder.build(), text)
}

/// Indexes the texts into one segment, so that document numbers are places in the request.
fn index_docs(schema: &Schema, field: Field, docs: &[Doc]) -> Outcome<Index> {
    let builder = Index::builder().schema(schema.clone());
    let directory = tantivy::directory::RamDirectory::create();
    let mut writer = builder.single_segment_index_writer(directory, WRITER_BUDGET)?;
    for doc in docs {
        let mut document = TantivyDocument::new();
        document.add_text(field, &doc.text);
        writer.add_document(document)?;
    }
    Ok(writer.finalize()?)
}

/// A disjunction of the query's terms, each as often as it occurs.
fn disjunction(index: &Index, field: Field, query: &str) -> Outcome<BooleanQuery> {
    let mut analyzer = index.tokenizer_for_field(field)?;
    let mut tokens = analyzer.token_stream(query);
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    while let Some(token) = tokens.next() {
        let term = Term::from_field_text(field, &token.text);
        clauses.push((
            Occur::Should,
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)),
        ));
    }
    Ok(BooleanQuery::new(clauses))
}

/// BM25 score of each document, in input order.
fn scores(searcher: &Searcher, query: &BooleanQuery, docs: usize) -> Outcome<Vec<f64>> {
    let mut scores = vec![0.0; docs];
    let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
    for segment in searcher.segment_readers() {
        weight.for_each(segment, &mut |doc, score| scores[doc as usize] = f64::from(score))?;
    }
    Ok(scores)
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    let found = values.fold(0.0, |most: f64, value| most.max(value.abs()));
    if found == 0.0 { 1.0 } else { found }
}

/// Answers one body.
fn answer(body: &[u8]) -> Outcome<Vec<u8>> {
    let request: Request = serde_json::from_slice(body)?;
    let (schema, field) = schema();
    let index = index_docs(&schema, field, &request.docs)?;
    let searcher = index.reader()?.searcher();
    let query = disjunction(&index, field, &request.query)?;
    let lexical = scores(&searcher, &query, request.docs.len())?;
    let most_lexical = largest(lexical.iter().copied());
    let most_dense = largest(request.docs.iter().map(|doc| doc.dense_score));
    let mut results: Vec<Ranked> = request
        .docs
        .iter()
        .zip(&lexical)
        .map(|(doc, &bm25_score)| Ranked {
            id: &doc.id,
            text: &doc.text,
            dense_score: doc.dense_score,
            bm25_score,
            fused_score: 0.5 * (bm25_score / most_lexical) + 0.5 * (doc.dense_score / most_dense),
            rank: 0,
        })
        .collect();
    results.sort_by(|left, right| right.fused_score.total_cmp(&left.fused_score));
    for (at, result) in results.iter_mut().enumerate() {
        result.rank = at + 1;
    }
    let query = request.query.as_str();
    let dense_source = "caller";
    let response = Response {
        query,
        method: "maxnorm",
        tokenizer: "ws",
        dense_source,
        results,
    };
    Ok(serde_json::to_vec(&response)?)
}

/// One line of stdin: answer the file's body once, or again and again for some seconds.
#[derive(Deserialize)]
struct Job {
    body: String,
    seconds: f64,
}

#[derive(Serialize)]
struct Timing {
    requests: u64,
    seconds: f64,
}

fn time(body: &[u8], seconds: f64) -> Outcome<Timing> {
    let limit = Duration::from_secs_f64(seconds);
    let start = Instant::now();
    let mut requests = 0;
    while start.elapsed() < limit {
        std::hint::black_box(answer(body)?);
        requests += 1;
    }
    Ok(Timing {
        requests,
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn main() -> Outcome<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let job: Job = serde_json::from_str(&line?)?;
        let body = std::fs::read(&job.body)?;
        let reply = if job.seconds == 0.0 {
            answer(&body)?
        } else {
            serde_json::to_vec(&time(&body, job.seconds)?)?
        };
        out.write_all(&reply)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}
