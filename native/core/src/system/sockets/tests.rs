use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use super::*;

/// A separate path, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("fusegate-sockets-{}-{name}", std::process::id())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    (listener, port)
}

/// The oracle of [`listening_on`]: reads the kernel's table.
fn listening_by_table(port: u16) -> Vec<Descriptor> {
    let table = fs::read_to_string("/proc/self/net/tcp").expect("the table");
    let local = format!(":{port:04X}");
    let inodes: HashSet<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields[1].ends_with(&local) && fields[3] == "0A")
        .map(|fields| format!("socket:[{}]", fields[9]))
        .collect();
    let mut found: Vec<Descriptor> = fs::read_dir("/proc/self/fd")
        .expect("the descriptors")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let link = fs::read_link(&path).ok()?;
            let is_one = inodes.contains(&link.to_string_lossy().into_owned());
            is_one.then(|| path.file_name()?.to_str()?.parse().ok())?
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn finds_what_listens_on_a_port_and_nothing_else() {
    let (first, port) = listener();
    let (_other, _) = listener();
    let client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let (accepted, _) = first.accept().expect("its other end");
    let second = first.try_clone().expect("a second descriptor");
    let found = listening_on(port).expect("found");
    assert_eq!(found, listening_by_table(port));
    let mut made = vec![first.as_raw_fd(), second.as_raw_fd()];
    made.sort_unstable();
    assert_eq!(found, made);
    drop((client, accepted, first, second));
    assert!(listening_on(port).expect("none").is_empty());
}

#[test]
fn a_sent_listener_accepts_what_waited_on_it_after_its_sender_closed_it() {
    let place = Place::new("sent");
    let inbox = Inbox::bind(&place.0).expect("an inbox");
    let (listener, port) = listener();
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("a connection that waits");
    send(&place.0, "{\"port\":1}", &[listener.as_raw_fd()]).expect("sent");
    drop(listener);
    let delivery = inbox
        .receive(Duration::from_secs(5))
        .expect("received")
        .expect("in time");
    assert_eq!(delivery.text, "{\"port\":1}");
    let [descriptor] = delivery.descriptors[..] else {
        panic!("one descriptor")
    };
    // SAFETY: the delivery gave up the descriptor.
    let taken = TcpListener::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    let (mut accepted, _) = taken.accept().expect("the connection");
    client.write_all(b"a").expect("sent");
    let mut byte = [0];
    accepted.read_exact(&mut byte).expect("read");
    assert_eq!(&byte, b"a");
}

#[test]
fn deliveries_keep_their_order_and_number() {
    let place = Place::new("order");
    let inbox = Inbox::bind(&place.0).expect("an inbox");
    let ports: Vec<_> = (0..3).map(|_| listener()).collect();
    let descriptors: Vec<_> = ports.iter().map(|(each, _)| each.as_raw_fd()).collect();
    send(&place.0, "three", &descriptors).expect("sent");
    send(&place.0, "one", &descriptors[..1]).expect("sent");
    for (text, count) in [("three", 3), ("one", 1)] {
        let delivery = inbox
            .receive(Duration::from_secs(5))
            .expect("received")
            .expect("in time");
        assert_eq!(
            (delivery.text.as_str(), delivery.descriptors.len()),
            (text, count)
        );
        for (descriptor, (_, port)) in delivery.descriptors.into_iter().zip(&ports) {
            // SAFETY: the delivery gave up the descriptor.
            let taken = TcpListener::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
            assert_eq!(taken.local_addr().expect("its address").port(), *port);
        }
    }
    assert!(inbox.receive(Duration::ZERO).expect("looked").is_none());
}

#[test]
fn a_socket_in_the_place_of_another_accepts_under_its_descriptor() {
    let (shared, port) = listener();
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("a connection that waits");
    let (place, other) = listener();
    let before = place.as_raw_fd();
    put_in_place(shared.into_raw_fd(), other).expect("put");
    assert_eq!(listening_on(port).expect("found"), [before]);
    assert!(listening_on(other).expect("none").is_empty());
    let (mut accepted, _) = place.accept().expect("the connection");
    client.write_all(b"b").expect("sent");
    let mut byte = [0];
    accepted.read_exact(&mut byte).expect("read");
    assert_eq!(&byte, b"b");
}

#[test]
fn what_cannot_be_is_refused() {
    let place = Place::new("nobody");
    let (listener, port) = listener();
    assert!(send(&place.0, "x", &[listener.as_raw_fd()]).is_err());
    let _inbox = Inbox::bind(&place.0).expect("an inbox");
    assert!(send(&place.0, "", &[listener.as_raw_fd()]).is_err());
    assert!(send(&place.0, "x", &[]).is_err());
    assert!(send(&place.0, "x", &[listener.as_raw_fd(); 65]).is_err());
    assert!(send(&place.0, "x", &[-1]).is_err());
    // With two listeners on the port it is not clear which to replace.
    let second = listener.try_clone().expect("a second descriptor");
    assert!(put_in_place(second.as_raw_fd(), port).is_err());
    assert_eq!(listening_on(port).expect("found").len(), 2);
}
