//! Listening sockets that one process passes to the next: they are found, sent over a Unix socket with
//! `SCM_RIGHTS` (unix(7)), and put in the place of another. At any time at least one process has each of them
//! open, so no pending connection is lost. Linux only; elsewhere every call fails as unsupported.

use std::io;
use std::path::Path;
use std::time::Duration;

/// A descriptor of this process; its holder must close it.
pub type Descriptor = i32;

/// A message received over a Unix socket.
#[derive(Debug)]
pub struct Delivery {
    /// The text that describes the descriptors.
    pub text: String,
    /// The descriptors, in the order sent. Programs that this process starts do not inherit them.
    pub descriptors: Vec<Descriptor>,
}

/// Most descriptors of one delivery, and most bytes of its text.
pub const MOST_DESCRIPTORS: usize = 64;
const MOST_TEXT: usize = 4096;

#[cfg(target_os = "linux")]
mod linux {
    use super::{Delivery, Descriptor, MOST_DESCRIPTORS, MOST_TEXT};
    use std::fs::{Permissions, read_dir, remove_file, set_permissions};
    use std::io::{self, ErrorKind, Read};
    use std::mem::{ManuallyDrop, MaybeUninit, size_of, size_of_val};
    use std::net::TcpListener;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;
    use std::ptr;
    use std::time::Duration;

    /// Buffer for the control message with the most descriptors, aligned for its head.
    type Control = [u64; 64];

    const _: () = assert!(size_of::<Control>() >= 64 + MOST_DESCRIPTORS * size_of::<Descriptor>());

    fn invalid(text: &str) -> io::Error {
        io::Error::new(ErrorKind::InvalidInput, text)
    }

    /// The result of a system call that returns -1 if it fails.
    fn checked(result: isize) -> io::Result<usize> {
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }

    /// The TCP port that a descriptor listens on.
    fn listening_port(descriptor: Descriptor) -> Option<u16> {
        let mut accepts: libc::c_int = 0;
        let mut length = size_of_val(&accepts) as libc::socklen_t;
        // SAFETY: the option is an int, and `length` gives its size.
        let asked = unsafe {
            libc::getsockopt(
                descriptor,
                libc::SOL_SOCKET,
                libc::SO_ACCEPTCONN,
                ptr::from_mut(&mut accepts).cast(),
                &mut length,
            )
        };
        if asked != 0 || accepts == 0 {
            return None;
        }
        // SAFETY: it is a socket; it is only asked for its address, and is not closed.
        let listener = ManuallyDrop::new(unsafe { TcpListener::from_raw_fd(descriptor) });
        listener.local_addr().ok().map(|address| address.port())
    }

    pub fn listening_on(port: u16) -> io::Result<Vec<Descriptor>> {
        let mut found = Vec::new();
        for entry in read_dir("/proc/self/fd")? {
            let name = entry?.file_name();
            let descriptor = name.to_str().and_then(|text| text.parse().ok());
            found.extend(descriptor.filter(|&each| listening_port(each) == Some(port)));
        }
        found.sort_unstable();
        Ok(found)
    }

    pub fn put_in_place(descriptor: Descriptor, port: u16) -> io::Result<()> {
        let [place] = listening_on(port)?[..] else {
            return Err(invalid("this process has not just one socket that listens there"));
        };
        // SAFETY: dup3 reads and writes no memory of this process.
        checked(unsafe { libc::dup3(descriptor, place, libc::O_CLOEXEC) } as isize)?;
        // SAFETY: the caller gives up the descriptor; the socket lives on in its new place.
        drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        Ok(())
    }

    pub fn send(path: &Path, text: &str, descriptors: &[Descriptor]) -> io::Result<()> {
        if descriptors.is_empty() || descriptors.len() > MOST_DESCRIPTORS {
            return Err(invalid("a delivery has 1 to 64 descriptors"));
        }
        if text.is_empty() || text.len() > MOST_TEXT {
            return Err(invalid("a delivery has a text of 1 to 4096 bytes"));
        }
        let stream = UnixStream::connect(path)?;
        let mut control: Control = [0; 64];
        let mut part = libc::iovec {
            iov_base: text.as_ptr().cast_mut().cast(),
            iov_len: text.len(),
        };
        let payload = size_of_val(descriptors);
        // SAFETY: a message head of zeros is valid, without parts. Everything it points to lives until
        // `sendmsg` returns: `part`, the text, and `control`, which has room for `payload` bytes after a
        // head, as asserted above, and is aligned for that head.
        let sent = unsafe {
            let mut message: libc::msghdr = MaybeUninit::zeroed().assume_init();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(payload as u32) as _;
            let head = libc::CMSG_FIRSTHDR(&message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(payload as u32) as _;
            let bytes = descriptors.as_ptr().cast::<u8>();
            ptr::copy_nonoverlapping(bytes, libc::CMSG_DATA(head), payload);
            libc::sendmsg(stream.as_raw_fd(), &message, libc::MSG_NOSIGNAL)
        };
        if checked(sent)? < text.len() {
            return Err(io::Error::new(ErrorKind::WriteZero, "a delivery was cut"));
        }
        Ok(())
    }

    pub struct Inbox {
        listener: UnixListener,
    }

    impl Inbox {
        pub fn bind(path: &Path) -> io::Result<Self> {
            match remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = UnixListener::bind(path)?;
            // Only its owner may send.
            set_permissions(path, Permissions::from_mode(0o600))?;
            Ok(Self { listener })
        }

        pub fn receive(&self, wait: Duration) -> io::Result<Option<Delivery>> {
            let mut asked = libc::pollfd {
                fd: self.listener.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let wait_ms = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
            // SAFETY: `asked` is one entry, as the call says.
            if checked(unsafe { libc::poll(&mut asked, 1, wait_ms) } as isize)? == 0 {
                return Ok(None);
            }
            let (mut stream, _) = self.listener.accept()?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            let (mut text, owned) = read_first(&stream)?;
            stream.read_to_end(&mut text)?;
            let text = String::from_utf8(text).map_err(|_| invalid("a delivery's text is not UTF-8"))?;
            let descriptors = owned
                .into_iter()
                .map(std::os::fd::IntoRawFd::into_raw_fd)
                .collect();
            Ok(Some(Delivery { text, descriptors }))
        }
    }

    /// The first bytes of a delivery, and the descriptors sent with them.
    fn read_first(stream: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
        let mut bytes = vec![0_u8; MOST_TEXT];
        let mut control: Control = [0; 64];
        let mut part = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        let mut owned = Vec::new();
        // SAFETY: as in `send`; the kernel writes at most as much as `part` and `msg_controllen` allow. The
        // heads that it has written are walked with its own macros; each carries whole descriptors, which
        // only this process owns from now on.
        let received = unsafe {
            let mut message: libc::msghdr = MaybeUninit::zeroed().assume_init();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            let received = libc::recvmsg(stream.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC);
            if received >= 0 {
                let mut head = libc::CMSG_FIRSTHDR(&message);
                while !head.is_null() {
                    if (*head).cmsg_level == libc::SOL_SOCKET && (*head).cmsg_type == libc::SCM_RIGHTS {
                        let payload = (*head).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                        let first = libc::CMSG_DATA(head).cast::<Descriptor>();
                        for at in 0..payload / size_of::<Descriptor>() {
                            owned.push(OwnedFd::from_raw_fd(first.add(at).read_unaligned()));
                        }
                    }
                    head = libc::CMSG_NXTHDR(&message, head);
                }
            }
            received
        };
        bytes.truncate(checked(received)?);
        Ok((bytes, owned))
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{Delivery, Descriptor};
    use std::io::{self, ErrorKind};
    use std::path::Path;
    use std::time::Duration;

    fn unsupported<T>() -> io::Result<T> {
        Err(io::Error::new(
            ErrorKind::Unsupported,
            "sockets can be handed over on Linux only",
        ))
    }

    pub fn listening_on(_: u16) -> io::Result<Vec<Descriptor>> {
        unsupported()
    }

    pub fn put_in_place(_: Descriptor, _: u16) -> io::Result<()> {
        unsupported()
    }

    pub fn send(_: &Path, _: &str, _: &[Descriptor]) -> io::Result<()> {
        unsupported()
    }

    pub struct Inbox;

    impl Inbox {
        pub fn bind(_: &Path) -> io::Result<Self> {
            unsupported()
        }

        pub fn receive(&self, _: Duration) -> io::Result<Option<Delivery>> {
            unsupported()
        }
    }
}

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

/// Descriptors of this process that listen on a TCP port, in ascending order.
pub fn listening_on(port: u16) -> io::Result<Vec<Descriptor>> {
    system::listening_on(port)
}

/// Replaces the socket that listens on `port` with another listening socket, under the same descriptor; the
/// replaced socket is closed. Users of that descriptor use the new socket from then on. `descriptor` itself
/// is closed.
pub fn put_in_place(descriptor: Descriptor, port: u16) -> io::Result<()> {
    system::put_in_place(descriptor, port)
}

/// Sends descriptors to the [`Inbox`] at `path`. This process's own stay open.
pub fn send(path: &Path, text: &str, descriptors: &[Descriptor]) -> io::Result<()> {
    system::send(path, text, descriptors)
}

/// A Unix socket that receives deliveries.
pub struct Inbox {
    inner: system::Inbox,
}

impl Inbox {
    /// Listens at `path`; an existing file there is removed.
    pub fn bind(path: &Path) -> io::Result<Self> {
        system::Inbox::bind(path).map(|inner| Self { inner })
    }

    /// The next delivery; `None` if none arrives in time.
    pub fn receive(&self, wait: Duration) -> io::Result<Option<Delivery>> {
        self.inner.receive(wait)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
