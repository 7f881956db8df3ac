//! A Slurm cluster of one controller and two nodes on this machine, for one test: daemons of its
//! own, ports of its own, everything in one temporary folder, and nothing left behind.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long anything may take before the test gives up on it; a slow machine is no failure.
const PATIENCE: Duration = Duration::from_mins(5);

pub struct Cluster {
    folder: TempDir,
    daemons: Vec<Child>,
    nodes: [Option<Child>; 2],
}

/// Why no cluster can be started here, if none can.
pub fn obstacle() -> Option<String> {
    let id = Command::new("id").arg("-u").output().unwrap();
    if id.stdout.trim_ascii() != b"0" {
        return Some("Slurm's daemons must be started by root".into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &&&str| !std::env::split_paths(&path).any(|f| f.join(program).is_file());
    let missing: Vec<&&str> =
        ["munged", "slurmctld", "slurmd", "sbatch"].iter().filter(is_there).collect();
    (!missing.is_empty())
        .then(|| format!("not installed: {missing:?} (cargo xtask test installs them)"))
}

/// Says something that the test harness does not swallow.
pub fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(format!("{text}\n").as_bytes()).unwrap();
}

impl Cluster {
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("bc-slurm").tempdir().unwrap();
        let mut cluster = Self { folder, daemons: Vec::new(), nodes: [None, None] };
        for name in ["state", "node1", "node2", "munge"] {
            fs::DirBuilder::new().mode(0o755).create(cluster.at(name)).unwrap();
        }
        cluster.write_configuration();
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force"]);
        for (option, file) in [
            ("key-file", "munge/key"),
            ("socket", "munge/socket"),
            ("pid-file", "munge/pid"),
            ("log-file", "munge/log"),
            ("seed-file", "munge/seed"),
        ] {
            munged.arg(format!("--{option}={}", cluster.at(file).display()));
        }
        let munged = cluster.spawn(munged, "munged");
        cluster.daemons.push(munged);
        cluster.until("munge's socket", || cluster.at("munge/socket").exists().then_some(()));
        let mut controller = Command::new("slurmctld");
        controller.args(["-D", "-i"]);
        let controller = cluster.spawn(controller, "slurmctld");
        cluster.daemons.push(controller);
        cluster.start_node(0);
        cluster.start_node(1);
        cluster
    }

    fn write_configuration(&self) {
        let mut key = [0u8; 64];
        let mut random = fs::File::open("/dev/urandom").unwrap();
        std::io::Read::read_exact(&mut random, &mut key).unwrap();
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o400).open(self.at("munge/key"));
        file.unwrap().write_all(&key).unwrap();
        // Held together, so that they differ.
        let held: Vec<TcpListener> =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = held.iter().map(|l| l.local_addr().unwrap().port()).collect();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap();
        let at = self.folder.path().display();
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={at}/munge/socket\nCredType=cred/munge\nStateSaveLocation={at}/state\nSlurmdSpoolDir={at}/%n\nSlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/%n.pid\nSlurmctldLogFile={at}/slurmctld.log\nSlurmdLogFile={at}/%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nMailProg=/bin/true\nSchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0\nReturnToService=2\nSlurmctldTimeout=60\nSlurmdTimeout=6\nMinJobAge=20\nKillWait=20\nJobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n",
            ports[0]
        );
        for (node, port) in [("node1", ports[1]), ("node2", ports[2])] {
            writeln!(
                text,
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1"
            )
            .unwrap();
        }
        text += "PartitionName=main Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP\n";
        fs::write(self.configuration(), text).unwrap();
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configuration(&self) -> PathBuf {
        self.at("slurm.conf")
    }

    fn spawn(&self, mut command: Command, name: &str) -> Child {
        let log = fs::File::create(self.at(&format!("{name}.out"))).unwrap();
        command.env("SLURM_CONF", self.configuration()).process_group(0);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn start_node(&mut self, index: usize) {
        let name = format!("node{}", index + 1);
        let mut slurmd = Command::new("slurmd");
        slurmd.args(["-D", "-N", &name]);
        self.nodes[index] = Some(self.spawn(slurmd, &name));
        self.until("a node that answers", || {
            let states = self.run("sinfo", &["--noheader", "--nodes", &name, "--format=%T"])?;
            (!states.contains("down") && !states.contains("unk") && !states.contains('*'))
                .then_some(())
        });
    }

    /// A node dies: its daemon and everything that ran on it, at once.
    pub fn kill_node(&mut self, index: usize) {
        let name = format!("node{}", index + 1);
        let mut daemon = self.nodes[index].take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        let marks = [self.at(&name), self.at(&format!("{name}.log"))];
        let variable = format!("SLURMD_NODENAME={name}");
        for process in self.processes() {
            let is_of_node = process.environment.contains(&variable)
                || process.files.iter().any(|f| marks.iter().any(|mark| f.starts_with(mark)));
            if is_of_node {
                signal(process.id, "KILL");
            }
        }
    }

    /// The process that computes an array task, if it has begun.
    pub fn runner(&self, job: u64, task: u64, program: &Path) -> Option<u32> {
        let wanted = [format!("SLURM_ARRAY_JOB_ID={job}"), format!("SLURM_ARRAY_TASK_ID={task}")];
        let is_it = |process: &Process| {
            process.program == program && wanted.iter().all(|v| process.environment.contains(v))
        };
        self.processes().into_iter().find(is_it).map(|process| process.id)
    }

    /// Runs a command of Slurm's, or `backcut`, as a user of this cluster; its stdout if it
    /// succeeds.
    pub fn run<A: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, args: &[A]) -> Option<String> {
        let output = self.output(program, args);
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    pub fn output<A: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: &[A],
    ) -> std::process::Output {
        let mut command = Command::new(program);
        command.args(args).env("SLURM_CONF", self.configuration()).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// State and node of the tasks of a job that are in the queue, by index.
    pub fn tasks(&self, job: u64) -> Vec<(u64, String, String)> {
        let args = ["--noheader", "--array", "--format=%F|%K|%T|%N"];
        let text = self.run("squeue", &args).unwrap_or_default();
        let read = |line: &str| {
            let parts: Vec<&str> = line.trim().split('|').collect();
            let [of, index, state, node] = parts.as_slice() else { panic!("squeue: {line:?}") };
            let is_wanted = *of == job.to_string();
            is_wanted.then(|| (index.parse().unwrap_or(0), (*state).to_owned(), (*node).to_owned()))
        };
        text.lines().filter_map(read).collect()
    }

    /// Waits until `look` sees something.
    pub fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(seen) = look() {
                eprintln!("{:6.1} s for {what}", began.elapsed().as_secs_f64());
                return seen;
            }
            let is_patient = began.elapsed() < PATIENCE;
            assert!(is_patient, "waited in vain for {what}\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn logs(&self) -> String {
        let mut text = String::new();
        for name in ["munged.out", "slurmctld.log", "slurmctld.out", "node1.log", "node2.log"] {
            let log = fs::read_to_string(self.at(name)).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let tail = lines[lines.len().saturating_sub(25)..].join("\n");
            write!(text, "--- {name}\n{tail}\n").unwrap();
        }
        text
    }

    /// Every process that belongs to this cluster: it has the cluster's configuration in its
    /// environment, or a file in the cluster's folder open (a step daemon overwrites its
    /// environment).
    fn processes(&self) -> Vec<Process> {
        let mark = format!("SLURM_CONF={}", self.configuration().display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(id) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            if id == std::process::id() {
                continue;
            }
            // A process may end while it is looked at.
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let environment: Vec<String> = environment
                .split(|byte| *byte == 0)
                .map(|variable| String::from_utf8_lossy(variable).into_owned())
                .collect();
            let links = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
            let files: Vec<PathBuf> =
                links.filter_map(|link| fs::read_link(link.path()).ok()).collect();
            let program = fs::read_link(entry.path().join("exe")).unwrap_or_default();
            let is_ours = environment.contains(&mark)
                || files.iter().any(|file| file.starts_with(self.folder.path()));
            if is_ours {
                found.push(Process { id, environment, files, program });
            }
        }
        found
    }
}

struct Process {
    id: u32,
    environment: Vec<String>,
    files: Vec<PathBuf>,
    program: PathBuf,
}

/// Sends a signal; the process may have ended by itself meanwhile.
pub fn signal(process: u32, name: &str) {
    let process = process.to_string();
    let _ = Command::new("kill").args(["-s", name, &process]).stderr(Stdio::null()).status();
}

/// Whether a stopped process has been told to end.
pub fn is_told_to_end(process: u32) -> bool {
    const TERM: u64 = 1 << 14;
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0) & TERM != 0
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Whatever is killed may have started something meanwhile: until nothing is left.
        for _ in 0..20 {
            let left = self.processes();
            for process in &left {
                signal(process.id, "KILL");
            }
            for daemon in self.daemons.iter_mut().chain(self.nodes.iter_mut().flatten()) {
                let _ = daemon.wait(); // it was killed
            }
            if left.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
