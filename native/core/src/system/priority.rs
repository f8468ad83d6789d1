//! Priority of threads that work in the background, while others serve.

/// Niceness of such a thread above that of the process's first: leaves it a quarter of a busy core.
#[cfg(target_os = "linux")]
const BACKGROUND: libc::c_int = 5;

/// Highest niceness on Linux.
#[cfg(target_os = "linux")]
const MOST: libc::c_int = 19;

/// Lowers the calling thread's priority below that of the process's first thread. If the system refuses, the
/// thread keeps its priority. Only for dedicated threads: raising it again needs privileges.
#[cfg(target_os = "linux")]
pub fn lower_this_thread() {
    // SAFETY: both calls only take and return numbers. On Linux the id of a process is that of its first
    // thread, and 0 is the calling thread.
    unsafe {
        let usual = libc::getpriority(libc::PRIO_PROCESS, std::process::id());
        let wanted = (usual + BACKGROUND).min(MOST);
        if libc::getpriority(libc::PRIO_PROCESS, 0) < wanted {
            libc::setpriority(libc::PRIO_PROCESS, 0, wanted);
        }
    }
}

/// Does nothing: only Linux sets the niceness of single threads.
#[cfg(not(target_os = "linux"))]
pub fn lower_this_thread() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The niceness that the system lists for a thread (proc_pid_stat(5), field 19).
    fn listed(thread: &str) -> libc::c_int {
        let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).expect("a thread");
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        fields
            .split(' ')
            .nth(17)
            .and_then(|one| one.parse().ok())
            .expect("a number")
    }

    #[test]
    fn only_the_thread_itself_has_the_lower_priority() {
        let usual = listed("self");
        let here = listed("thread-self");
        let lowered = std::thread::spawn(|| {
            let lowered = || {
                lower_this_thread();
                listed("thread-self")
            };
            [lowered(), lowered()]
        });
        let wanted = (usual + BACKGROUND).min(MOST);
        assert_eq!(lowered.join().expect("a thread"), [wanted.max(here); 2]);
        assert_eq!((listed("self"), listed("thread-self")), (usual, here));
    }
}
