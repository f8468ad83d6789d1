//! Requests at their times, however the earlier ones go. Arguments: ADDRESS PATH BODY-FILE RATE SECONDS
//! CONNECTIONS. Sends a JSON body by POST, RATE times a second in all, each on a connection that waits for no
//! answer. Prints one JSON object: the number of answers of status 200 and of others, and latencies in
//! microseconds. Ends after the seconds also where requests are still to be sent, so that a rate beyond
//! reach finds the greatest. The first second, in which both sides wake up, is not counted.
//!
//! A latency counts from the moment at which a request was due if all connections waited for answers then, so
//! that a server that stops for a while does not hide the requests that wait; else from its sending. One
//! thread does everything: threads of the generator that wake up beside each other would take the processor
//! from the server at moments of their own.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// An answer as far as it has arrived.
struct Answer {
    room: Vec<u8>,
    have: usize,
    /// Its length with its head; none: the head is not there yet.
    whole: Option<usize>,
}

/// A connection, and the moment from which the latency of its request counts.
struct Connection {
    stream: TcpStream,
    answer: Answer,
    from: Instant,
    counts: bool,
}

fn wrong(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

/// The length of an answer with its head, if the head is there.
fn whole_length(room: &[u8]) -> Result<Option<usize>, Error> {
    let Some(head) = room.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let lines = String::from_utf8_lossy(&room[..head]).to_ascii_lowercase();
    let length = lines
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let length: Option<usize> = length.and_then(|text| text.parse().ok());
    Ok(Some(head + 4 + length.ok_or(wrong("no length"))?))
}

impl Connection {
    fn open(address: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let answer = Answer {
            room: vec![0; 1 << 18],
            have: 0,
            whole: None,
        };
        Ok(Self {
            stream,
            answer,
            from: Instant::now(),
            counts: false,
        })
    }

    /// Sends a request; the socket has room for all of it, or is given time.
    fn send(&mut self, request: &[u8]) -> Result<(), Error> {
        let mut sent = 0;
        while sent < request.len() {
            match self.stream.write(&request[sent..]) {
                Ok(written) => sent += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what has arrived; the status if that is the whole answer.
    fn read(&mut self) -> Result<Option<u16>, Error> {
        let Answer { room, have, whole } = &mut self.answer;
        while whole.is_none_or(|whole| *have < whole) {
            if *have == room.len() {
                room.resize(2 * room.len(), 0);
            }
            match self.stream.read(&mut room[*have..]) {
                Ok(0) => return Err(wrong("the connection ended within an answer")),
                Ok(read) => *have += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
            if whole.is_none() {
                *whole = whole_length(&room[..*have])?;
            }
        }
        let digits = room
            .get(9..12)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let status = digits.and_then(|digits| digits.parse().ok());
        (*have, *whole) = (0, None);
        Ok(Some(status.ok_or(wrong("no status"))?))
    }
}

/// Waiting for sockets, at most until a time.
#[cfg(target_os = "linux")]
mod waiting {
    use super::Connection;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    #[repr(C)]
    struct PollFd {
        descriptor: i32,
        events: i16,
        returned: i16,
    }

    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }

    unsafe extern "C" {
        fn ppoll(fds: *mut PollFd, count: u64, timeout: *const Timespec, mask: *const u8) -> i32;
    }

    /// Sockets of connections.
    pub struct Sockets(Vec<PollFd>);

    impl Sockets {
        pub fn of(connections: &[Connection]) -> Self {
            let readable = |each: &Connection| PollFd {
                descriptor: each.stream.as_raw_fd(),
                events: 1,
                returned: 0,
            };
            Self(connections.iter().map(readable).collect())
        }

        /// Waits until one may be read, or for a time.
        pub fn wait(&mut self, most: Duration) {
            let timeout = Timespec {
                seconds: most.as_secs() as i64,
                nanoseconds: i64::from(most.subsec_nanos()),
            };
            // SAFETY: the descriptors and the time are valid for the call, their layouts are those of 64-bit
            // Linux, and no mask of signals is given.
            unsafe {
                ppoll(
                    self.0.as_mut_ptr(),
                    self.0.len() as u64,
                    &timeout,
                    std::ptr::null(),
                )
            };
        }

        /// Whether a socket may be read.
        pub fn is_readable(&self, at: usize) -> bool {
            self.0[at].returned != 0
        }
    }
}

/// Elsewhere every socket is tried again and again.
#[cfg(not(target_os = "linux"))]
mod waiting {
    use super::Connection;
    use std::time::Duration;

    pub struct Sockets;

    impl Sockets {
        pub fn of(_: &[Connection]) -> Self {
            Self
        }

        pub fn wait(&mut self, _: Duration) {
            std::thread::yield_now();
        }

        pub fn is_readable(&self, _: usize) -> bool {
            true
        }
    }
}

/// Latencies (µs), and the number of answers that were not 200.
struct Measured {
    latencies: Vec<u32>,
    others: u64,
}

/// Sends requests at equal distances until the end.
fn send_all(
    mut connections: Vec<Connection>,
    request: &[u8],
    every: Duration,
    seconds: Duration,
) -> Result<Measured, Error> {
    let mut sockets = waiting::Sockets::of(&connections);
    let mut idle: VecDeque<usize> = (0..connections.len()).collect();
    let mut busy = vec![false; connections.len()];
    let (mut latencies, mut others) = (Vec::new(), 0);
    let mut due = Instant::now();
    let counted = due + Duration::from_secs(1);
    let end = counted + seconds;
    // True while a request that was due could not be sent.
    let mut waited = false;
    loop {
        let now = Instant::now();
        if now >= end {
            return Ok(Measured { latencies, others });
        }
        while due <= now {
            let Some(at) = idle.pop_front() else {
                waited = true;
                break;
            };
            let sent = Instant::now();
            let connection = &mut connections[at];
            connection.from = if waited { due } else { sent };
            connection.counts = sent >= counted;
            connection.send(request)?;
            busy[at] = true;
            due += every;
        }
        waited &= due <= now;
        sockets.wait(if idle.is_empty() {
            end - now
        } else {
            due.saturating_duration_since(Instant::now())
        });
        for at in 0..connections.len() {
            if !busy[at] || !sockets.is_readable(at) {
                continue;
            }
            let connection = &mut connections[at];
            let Some(status) = connection.read()? else {
                continue;
            };
            match status {
                200 if connection.counts => {
                    latencies.push(u32::try_from(connection.from.elapsed().as_micros()).unwrap_or(u32::MAX));
                }
                200 => {}
                _ => others += 1,
            }
            busy[at] = false;
            idle.push_back(at);
        }
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
    let opened: Result<Vec<_>, Error> = (0..connections).map(|_| Connection::open(address)).collect();
    let every = Duration::from_secs_f64(1.0 / rate);
    let Measured {
        mut latencies,
        others,
    } = send_all(opened?, &request, every, Duration::from_secs_f64(seconds))?;
    latencies.sort_unstable();
    let of = |share: f64| {
        let place = (latencies.len() as f64 * share) as usize;
        latencies
            .get(place.min(latencies.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0)
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
