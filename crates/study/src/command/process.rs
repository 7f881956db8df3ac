//! One process group: started, listened to, ended.
//!
//! The program leads a group of its own, so that whatever it starts can be ended with it, and so
//! that a terminal's Ctrl-C reaches backcut alone, which then decides. Waiting rests on the pipe:
//! it ends when the last of the group has closed it, so a short program is not waited for by the
//! clock.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::handover::VARIABLE;
use super::output::Output;
use crate::claim::Owner;
use crate::error::StudyError;
use crate::program::Surroundings;

/// Between the request to end and the end.
const GRACE: Duration = Duration::from_secs(10);
/// How often a stop, a limit and the progress are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// A process that was told to end by somebody else: is backcut being told too?
const TOLD_TOO: Duration = Duration::from_secs(2);
/// How long a pipe is listened to whose program has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a program ended.
pub(super) enum End {
    /// By itself, or by somebody's signal.
    Exited(ExitStatus),
    /// Its limit was reached.
    TimedOut,
    /// backcut was told to stop.
    Stopped,
}

/// A program that runs.
pub(super) struct Process {
    child: Child,
    output: Arc<Mutex<Output>>,
    /// Ends with the pipe.
    ended: Receiver<()>,
}

impl Process {
    /// Starts a command in its folder. It is never read by a shell.
    pub(super) fn start(
        command: &[String],
        surroundings: &Surroundings,
        unit: &Path,
    ) -> Result<Self, StudyError> {
        let [program, words @ ..] = command else {
            return Err(StudyError::bug("a command without words"));
        };
        let pipe = || std::io::pipe().map_err(StudyError::io(&surroundings.folder));
        let (reader, writer) = pipe()?;
        let copy = writer.try_clone().map_err(StudyError::io(&surroundings.folder))?;
        // A name with a slash is a path from the folder in which it runs; another is looked up.
        let path =
            if program.contains('/') { surroundings.folder.join(program) } else { program.into() };
        let mut starting = Command::new(&path);
        starting
            .args(words)
            .current_dir(&surroundings.folder)
            .env(VARIABLE, unit)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(copy);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut starting, 0);
        let child = starting.spawn().map_err(|error| {
            let what = format!("`{program}` cannot be started: {error}");
            let hint = format!("it runs in {}", surroundings.folder.display());
            StudyError::invalid(what, hint)
        })?;
        drop(starting); // and with it our ends of the pipe
        let output: Arc<Mutex<Output>> = Arc::default();
        let (sender, ended) = channel();
        let taken = Arc::clone(&output);
        std::thread::spawn(move || {
            Output::drain(reader, &|bytes| lock(&taken).take(bytes));
            drop(sender);
        });
        Ok(Self { child, output, ended })
    }

    /// The process, as a later backcut can recognise it.
    pub(super) fn owner(&self) -> Owner {
        Owner::of(self.child.id())
    }

    /// Waits for the end; `look` is called now and then.
    pub(super) fn wait(
        &mut self,
        limit: Option<Duration>,
        stop: &AtomicBool,
        look: &dyn Fn(),
    ) -> Result<End, StudyError> {
        let began = Instant::now();
        let mut pipe_is_open = true;
        let mut pause = Duration::from_micros(100);
        let status = loop {
            if let Some(status) = self.try_wait()? {
                break status;
            }
            if stop.load(Ordering::Relaxed) {
                return match self.end(GRACE)? {
                    status if status.success() => Ok(End::Exited(status)),
                    _ => Ok(End::Stopped),
                };
            }
            let left = limit.map(|limit| limit.saturating_sub(began.elapsed()));
            if left == Some(Duration::ZERO) {
                self.end(GRACE)?;
                return Ok(End::TimedOut);
            }
            look();
            let next = LOOK.min(left.unwrap_or(LOOK));
            if pipe_is_open {
                let heard = self.ended.recv_timeout(next);
                pipe_is_open = heard == Err(RecvTimeoutError::Timeout);
            } else {
                // It has closed its output, and is about to end or works on in silence.
                std::thread::sleep(pause.min(next));
                pause *= 2;
            }
        };
        self.end_group(); // what it has left behind
        // Whoever ends a whole job tells every process of it, the program perhaps before backcut.
        if was_told_to_end(status) {
            let told = Instant::now();
            while !stop.load(Ordering::Relaxed) && told.elapsed() < TOLD_TOO {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let is_stopped = stop.load(Ordering::Relaxed) && !status.success();
        Ok(if is_stopped { End::Stopped } else { End::Exited(status) })
    }

    /// What it has printed, once it has ended. Somebody who left the group may hold the pipe open.
    pub(super) fn output(self) -> Output {
        let _ = self.ended.recv_timeout(LAST_WORDS); // an error says that the pipe has ended
        std::mem::take(&mut *lock(&self.output))
    }

    fn try_wait(&mut self) -> Result<Option<ExitStatus>, StudyError> {
        let failed = |error| StudyError::bug(format!("a program cannot be waited for: {error}"));
        self.child.try_wait().map_err(failed)
    }

    /// Asks the group to end, and ends it when the grace is over.
    fn end(&mut self, grace: Duration) -> Result<ExitStatus, StudyError> {
        let asked = Instant::now();
        signal(self.child.id(), Signal::Term);
        let status = loop {
            if let Some(status) = self.try_wait()? {
                break status;
            }
            if asked.elapsed() >= grace {
                signal(self.child.id(), Signal::Kill);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        self.end_group();
        Ok(status)
    }

    fn end_group(&self) {
        signal(self.child.id(), Signal::Kill);
    }
}

fn lock(output: &Mutex<Output>) -> std::sync::MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the group of a program that outlived the backcut that started it.
pub(super) fn end_orphan(owner: &Owner) {
    if owner.lives() != Some(true) {
        return; // it has ended, its number may be another's now, or it runs on another machine
    }
    signal(owner.process, Signal::Kill);
    let asked = Instant::now();
    while owner.lives() == Some(true) && asked.elapsed() < GRACE {
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Term,
    Kill,
}

/// Sends a signal to a group. That nobody is left to hear it is no error.
#[cfg(unix)]
fn signal(leader: u32, which: Signal) {
    use nix::sys::signal::{Signal as Sent, killpg};
    let which = match which {
        Signal::Term => Sent::SIGTERM,
        Signal::Kill => Sent::SIGKILL,
    };
    if let Ok(leader) = i32::try_from(leader) {
        let _ = killpg(nix::unistd::Pid::from_raw(leader), which);
    }
}

#[cfg(not(unix))]
fn signal(_leader: u32, _which: Signal) {}

#[cfg(unix)]
fn was_told_to_end(status: ExitStatus) -> bool {
    use nix::sys::signal::Signal as Sent;
    let number = std::os::unix::process::ExitStatusExt::signal(&status);
    [Sent::SIGTERM, Sent::SIGINT, Sent::SIGHUP].iter().any(|s| Some(*s as i32) == number)
}

#[cfg(not(unix))]
fn was_told_to_end(_status: ExitStatus) -> bool {
    false
}
