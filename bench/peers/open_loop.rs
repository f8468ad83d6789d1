//! Requests at their times, however the earlier ones go. Arguments: ADDRESS PATH BODY-FILE RATE SECONDS
//! CONNECTIONS. Sends a JSON body by POST, RATE times a second in all, over connections that take turns at
//! equal distances. Prints one JSON object: the number of answers of status 200 and of others, and latencies
//! in microseconds. Ends after the seconds also where requests are still to be sent, so that a rate beyond
//! reach finds the greatest. The first second, in which both sides wake up, is not counted.
//!
//! A latency counts from the moment at which a request was due if an earlier answer on its connection was
//! late, so that a server that stops for a while does not hide the requests that wait; else from its sending.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Reads one answer with a `content-length`; `room` is reused. Returns its status.
fn read_answer(stream: &mut TcpStream, room: &mut Vec<u8>) -> Result<u16, Error> {
    let wrong = |what| Error::new(ErrorKind::InvalidData, what);
    let mut have = 0;
    let mut whole = None;
    while whole.is_none_or(|whole| have < whole) {
        if room.len() < have + 65_536 {
            room.resize(have + 65_536, 0);
        }
        let read = stream.read(&mut room[have..])?;
        if read == 0 {
            return Err(wrong("the connection ended within an answer"));
        }
        have += read;
        if whole.is_none() {
            let head = room[..have].windows(4).position(|four| four == b"\r\n\r\n");
            let Some(head) = head else { continue };
            let lines = String::from_utf8_lossy(&room[..head]).to_ascii_lowercase();
            let length = lines
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.lines().next());
            let length: usize = length
                .and_then(|text| text.parse().ok())
                .ok_or(wrong("no length"))?;
            whole = Some(head + 4 + length);
        }
    }
    let status = room
        .get(9..12)
        .and_then(|digits| std::str::from_utf8(digits).ok());
    status
        .and_then(|digits| digits.parse().ok())
        .ok_or(wrong("no status"))
}

/// One connection's requests, each `every` after the one before; returns latencies and other statuses' count.
fn send_all(
    mut stream: TcpStream,
    request: &[u8],
    first: Instant,
    counted: Instant,
    every: Duration,
    end: Instant,
) -> Result<(Vec<u32>, u64), Error> {
    let (mut latencies, mut others) = (Vec::new(), 0);
    let mut room = Vec::new();
    let mut due = first;
    loop {
        let now = Instant::now();
        if due.max(now) >= end {
            return Ok((latencies, others));
        }
        let is_late = now > due;
        if !is_late {
            std::thread::sleep(due - now);
        }
        let sent = Instant::now();
        let from = if is_late { due } else { sent };
        stream.write_all(request)?;
        match read_answer(&mut stream, &mut room)? {
            200 if sent < counted => {}
            200 => latencies.push(u32::try_from(from.elapsed().as_micros()).unwrap_or(u32::MAX)),
            _ => others += 1,
        }
        due += every;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, body, rate, seconds, connections] = &arguments[..] else {
        return Err("usage: open_loop ADDRESS PATH BODY-FILE RATE SECONDS CONNECTIONS".into());
    };
    let body = std::fs::read(body)?;
    let (rate, seconds): (f64, f64) = (rate.parse()?, seconds.parse()?);
    let connections: u32 = connections.parse()?;
    let mut request =
        format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    request += &format!("content-length: {}\r\n\r\n", body.len());
    let request = [request.as_bytes(), &body].concat();
    let mut streams = Vec::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let distance = Duration::from_secs_f64(1.0 / rate);
    let begin = Instant::now() + Duration::from_millis(100);
    let counted = begin + Duration::from_secs(1);
    let end = counted + Duration::from_secs_f64(seconds);
    let results: Vec<Result<(Vec<u32>, u64), Error>> = std::thread::scope(|scope| {
        let request = &request[..];
        let senders: Vec<_> = (0..)
            .zip(streams)
            .map(|(at, stream)| {
                let (first, every) = (begin + distance * at, distance * connections);
                scope.spawn(move || send_all(stream, request, first, counted, every, end))
            })
            .collect();
        let joined = |sender: std::thread::ScopedJoinHandle<'_, _>| sender.join().expect("a sender's thread");
        senders.into_iter().map(joined).collect()
    });
    let (mut latencies, mut others) = (Vec::new(), 0);
    for result in results {
        let (of, failed) = result?;
        latencies.extend(of);
        others += failed;
    }
    latencies.sort_unstable();
    let at = |share: f64| latencies.get(((latencies.len() as f64 * share) as usize).min(latencies.len() - 1));
    let of = |share| {
        if latencies.is_empty() {
            0
        } else {
            at(share).copied().unwrap_or(0)
        }
    };
    println!(
        "{{\"answers\":{},\"others\":{others},\"p50\":{},\"p90\":{},\"p99\":{},\"most\":{}}}",
        latencies.len(),
        of(0.5),
        of(0.9),
        of(0.99),
        of(1.0),
    );
    Ok(())
}
