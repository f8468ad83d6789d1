//! Limits over processes: this program starts itself again, and the children share one mapped file.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use fusegate_core::access::limits::{KEYS, Limit, Limits, MONTH_MS, Now, Verdict, Weight};

const FILE: &str = "FUSEGATE_TEST_LIMITS_FILE";
const TASK: &str = "FUSEGATE_TEST_LIMITS_TASK";
const RUNNER: &str = "FUSEGATE_TEST_RUNNER";
const PROCESSES: usize = 4;
const START: Now = Now {
    nanos: 1_000_000_000_000,
    wall_ms: 1_700_000_000_000,
};

/// The file of one test, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("fusegate-limits-{}-{name}", std::process::id()));
        Limits::create(&path, [9; 16]).expect("a writable temporary folder");
        Self(path)
    }

    fn open(&self) -> Limits {
        Limits::open(&self.0).expect("the file just made")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn start(task: &str, path: &Path) -> Child {
    let program = env::current_exe().expect("this program");
    // An emulated program cannot be started without its emulator.
    let runner = env::var(RUNNER).unwrap_or_default();
    let mut words = runner
        .split_whitespace()
        .map(OsStr::new)
        .chain([program.as_os_str()]);
    Command::new(words.next().expect("a program"))
        .args(words)
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .envs([(FILE, path.as_os_str()), (TASK, task.as_ref())])
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program again")
}

/// Runs a task in several processes at once and adds up what they count.
fn total(task: &str, path: &Path) -> u64 {
    let children: Vec<Child> = (0..PROCESSES).map(|_| start(task, path)).collect();
    let counts = children.into_iter().map(|child| {
        let output = child.wait_with_output().expect("a child's output");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("text");
        let count = text
            .lines()
            .find_map(|line| line.split_once("count="))
            .expect("a count")
            .1;
        count.parse::<u64>().expect("a number")
    });
    counts.sum()
}

fn a_minute(per_minute: u32) -> Limit {
    Limit {
        per_minute,
        per_month: 0,
    }
}

/// Requests that pass, of as many as `per_minute` tries by each process.
fn hammer(limits: &Limits) -> u64 {
    let subject = limits.subject(KEYS, b"one");
    let passed = (0..HAMMERED).filter(|_| {
        let verdict = limits.admit(subject, a_minute(HAMMERED), START).verdict;
        assert_ne!(verdict, Verdict::Uncounted);
        verdict == Verdict::Admitted
    });
    passed.count() as u64
}
const HAMMERED: u32 = 200_000;

/// Passes of subjects that every process meets for the first time at about the same moment.
fn meet(limits: &Limits) -> u64 {
    let passed = (0..MET).filter(|at| {
        let subject = limits.subject(1, &at.to_le_bytes());
        let verdict = limits.admit(subject, a_minute(1), START).verdict;
        assert_ne!(verdict, Verdict::Uncounted);
        verdict == Verdict::Admitted
    });
    passed.count() as u64
}
const MET: u64 = 5_000;

/// Requests that pass of one network, each process with addresses of its own.
fn surround(limits: &Limits) -> u64 {
    let passed = (0..SURROUNDING).filter(|at| {
        let [high, low] = at.to_be_bytes();
        let own = std::process::id() as u8;
        let address = limits.address(1, &[0x20, 1, 0xd, 0xb8, 0, own & 1, high, low]);
        let standing = limits.admit_address(&address, a_minute(9), Weight::Whole, START);
        assert_ne!(standing.verdict, Verdict::Crowded);
        standing.verdict == Verdict::Admitted
    });
    passed.count() as u64
}
const SURROUNDING: u16 = 20_000;

/// Characters charged to one subject.
fn charge(limits: &Limits) -> u64 {
    let subject = limits.subject(KEYS, b"one");
    limits.load(subject, START.wall_ms, 0, START.nanos);
    for _ in 0..CHARGES {
        limits.charge(subject, START.wall_ms, 3, START.nanos);
    }
    CHARGES * 3
}
const CHARGES: u64 = 100_000;

/// Meets, takes, charges and evicts without end, at a time that runs 5,000 times too fast: a slot is idle
/// after 12 ms, and the half is full after some tens of thousands of subjects.
fn churn(limits: &Limits, age: impl Fn() -> Duration) -> u64 {
    loop {
        let now = Now {
            nanos: START.nanos + age().as_nanos() as u64 * 5_000,
            ..START
        };
        for at in 0..40_u64 {
            let subject = limits.subject(KEYS, &(now.nanos / 40 + at).to_le_bytes());
            if limits.admit(subject, CHURN_LIMIT, now).verdict == Verdict::Unloaded {
                limits.load(subject, START.wall_ms, 0, now.nanos);
            }
            limits.charge(subject, START.wall_ms, 1, now.nanos);
        }
    }
}
const CHURN_LIMIT: Limit = Limit {
    per_minute: 10,
    per_month: 100,
};

/// Age of a file.
fn age_of(path: &Path) -> impl Fn() -> Duration {
    let made = path
        .metadata()
        .and_then(|facts| facts.modified())
        .expect("the file's time");
    move || made.elapsed().expect("a clock that goes forward")
}

/// Work of the child processes; nothing when the tests run it.
#[test]
fn child() {
    let (Ok(file), Ok(task)) = (env::var(FILE), env::var(TASK)) else {
        return;
    };
    let limits = Limits::open(Path::new(&file)).expect("the parent's file");
    let count = match task.as_str() {
        "hammer" => hammer(&limits),
        "meet" => meet(&limits),
        "surround" => surround(&limits),
        "charge" => charge(&limits),
        "churn" => churn(&limits, age_of(Path::new(&file))),
        other => panic!("no task {other}"),
    };
    println!("count={count}");
}

#[test]
fn exactly_the_limit_passes_over_processes() {
    let scratch = Scratch::new("hammer");
    assert_eq!(total("hammer", &scratch.0), u64::from(HAMMERED));
}

#[test]
fn a_first_sight_in_every_process_is_one_subject() {
    let scratch = Scratch::new("meet");
    assert_eq!(total("meet", &scratch.0), MET);
}

#[test]
fn a_network_is_one_limit_over_processes() {
    let scratch = Scratch::new("surround");
    let passed = total("surround", &scratch.0);
    let networks: u64 = 2;
    assert!(passed <= networks * 64 * 9, "{passed} of two networks passed");
    // A request that its address refuses may have taken another's place for a moment. It never lets one pass.
    assert!(passed > 32 * 9, "{passed} passed");
}

#[test]
fn every_charge_is_counted_over_processes() {
    let scratch = Scratch::new("charge");
    let charged = total("charge", &scratch.0);
    let limits = scratch.open();
    let subject = limits.subject(KEYS, b"one");
    let verdict = |per_month| {
        let limit = Limit {
            per_minute: 60,
            per_month,
        };
        limits.admit(subject, limit, START).verdict
    };
    assert_eq!(verdict(charged), Verdict::OverMonth);
    assert_eq!(verdict(charged + 1), Verdict::Admitted);
}

#[test]
fn a_process_killed_anywhere_leaves_nothing_locked_or_lost() {
    let scratch = Scratch::new("killed");
    for round in 0..12 {
        let mut children: Vec<Child> = (0..3).map(|_| start("churn", &scratch.0)).collect();
        sleep(Duration::from_millis(30 + 7 * round));
        for child in &mut children {
            child.kill().expect("a running child");
            child.wait().expect("its end");
        }
    }
    let limits = scratch.open();
    let now = Now {
        nanos: START.nanos * 1_000_000,
        wall_ms: START.wall_ms + MONTH_MS,
    };
    // As many subjects as all groups of the half hold on average a quarter of: every one finds a slot.
    for at in 0..16_384_u64 {
        let subject = limits.subject(KEYS, &at.to_le_bytes());
        assert_eq!(limits.admit(subject, a_minute(1), now).verdict, Verdict::Admitted);
        assert_eq!(
            limits.admit(subject, a_minute(1), now).verdict,
            Verdict::OverMinute
        );
    }
}
