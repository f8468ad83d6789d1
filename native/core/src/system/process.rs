//! The end of this process.

/// Ends this process immediately, with a status. No exit handler runs, and no thread is waited for.
pub fn end(status: i32) -> ! {
    // SAFETY: it only takes a number, and does not return.
    unsafe { libc::_exit(status) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    /// Set in the process that the test below starts.
    const ENDS: &str = "FUSEGATE_TEST_ENDS";

    #[test]
    fn a_process_ends_while_its_threads_wait() {
        if std::env::var_os(ENDS).is_some() {
            std::thread::spawn(std::thread::park);
            super::end(7);
        }
        let program = std::env::current_exe().expect("this program");
        let name = "system::process::tests::a_process_ends_while_its_threads_wait";
        let ended = Command::new(program)
            .args([name, "--exact"])
            .env(ENDS, "1")
            .output();
        let status = ended.expect("a process").status;
        assert_eq!((status.code(), status.signal()), (Some(7), None));
    }
}
