//! A study on a real Slurm: tasks that run out of time, are killed, cancelled or die with their
//! node, and tables that come out byte for byte as from an undisturbed run on one machine.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::slurm::{Cluster, is_told_to_end, obstacle, say, signal};

#[path = "common/slurm.rs"]
mod slurm;

/// Twenty-four units in eight groups; a branch, so that units wait for one another.
const STUDY: &str = r#"
name = "tiny"
title = "A small study for a small cluster"
evaluate_every = 1500

[system]
name = "quadrotor"
settings = { policy = { steps = 8, width = 16, layers = 1, heads = 2, hidden = 16, initialisation = "gpt" } }

[sources]
first = 1
count = 8

[conditions]
"0.20" = { velocity = 0.20 }

[arms.FF]
cut = "FF"
updates = 3000

[arms.F_SG]
cut = "F_SG"
updates = 3000

[arms.late]
from = "FF"
at = 1500
cut = "F_SG"
updates = 3000

[[families]]
name = "cost"
asks = "descriptive"
contrasts = ["R = [F_SG@0.20] - [FF@0.20]", "L = [late@0.20] - [FF@0.20]"]
"#;

const UNITS: u64 = 24;

struct Bench {
    cluster: Cluster,
    program: PathBuf,
    file: PathBuf,
}

impl Bench {
    /// Runs `backcut study`; its stdout and stderr.
    fn study(&self, args: &[&str], out: &Path) -> (String, String) {
        let mut all = vec!["study", args[0], self.file.to_str().unwrap()];
        all.extend(["--out", out.to_str().unwrap()]);
        all.extend(&args[1..]);
        let output = self.cluster.output(&self.program, &all);
        let words = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (stdout, stderr) = (words(&output.stdout), words(&output.stderr));
        assert!(output.status.success(), "{all:?}\n{stdout}\n{stderr}");
        (stdout, stderr)
    }

    /// Submits with the options that all submissions here share; the array's job.
    fn submit(&self, command: &[&str], out: &Path) -> (u64, String) {
        let mut args = command.to_vec();
        args.extend(["--executor", "slurm", "--units-per-task", "6"]);
        args.extend(["--save-after", "0.2", "--stale-after", "20", "--"]);
        args.extend(["--cpus-per-task", "1", "--time", "30", "--partition", "main"]);
        let (stdout, stderr) = self.study(&args, out);
        let line = stdout.lines().find(|line| line.contains("array")).expect(&stdout);
        let job = line.split_whitespace().nth(2).unwrap().parse().expect(line);
        (job, stderr)
    }

    /// How many units are done, by their files.
    fn done(&self, out: &Path) -> u64 {
        let (stdout, _) = self.study(&["status", "--json"], out);
        let value: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(value["states"]["failed"], 0, "{stdout}");
        value["states"]["done"].as_u64().unwrap()
    }

    /// Waits for a task's runner; its process and the node it is on.
    fn running(&self, job: u64) -> (u64, u32, String) {
        self.cluster.until("a running task", || {
            self.cluster.tasks(job).into_iter().find_map(|(task, state, node)| {
                let runner = self.cluster.runner(job, task, &self.program)?;
                (state == "RUNNING").then_some((task, runner, node))
            })
        })
    }

    /// Waits for the tables that the collect job makes.
    fn tables(&self, out: &Path) -> PathBuf {
        let folder = out.join("tables/tiny");
        let sums = folder.join("SHA256SUMS");
        self.cluster.until("the collect job", || sums.exists().then_some(()));
        folder
    }
}

/// The tables that depend on the definitions alone.
fn tables(folder: &Path) -> Vec<(String, String)> {
    ["analysis", "observations", "units"]
        .map(|name| {
            (name.to_owned(), fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap())
        })
        .to_vec()
}

fn logs(out: &Path) -> String {
    let mut names: Vec<PathBuf> = fs::read_dir(out.join("slurm"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "log"))
        .collect();
    names.sort();
    names.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn slurm_finishes_what_it_lost() {
    if let Some(why) = obstacle() {
        say(&format!("SKIPPED slurm_finishes_what_it_lost: {why}"));
        return;
    }
    let cluster = Cluster::start();
    let program = assert_cmd::cargo::cargo_bin("backcut").canonicalize().unwrap();
    let file = cluster.at("tiny.toml");
    fs::write(&file, STUDY).unwrap();
    let mut bench = Bench { cluster, program, file };

    let alone = bench.cluster.at("alone");
    bench.study(&["run", "--jobs", "2"], &alone);
    bench.study(&["collect"], &alone);
    let expected = tables(&alone.join("tables/tiny"));
    let units: Vec<&str> = expected[2].1.lines().skip(1).collect();
    assert_eq!(units.iter().collect::<BTreeSet<_>>().len(), UNITS as usize);

    a_task_out_of_time_goes_on_later(&bench, &expected);
    what_was_lost_is_sent_again(&mut bench, &expected);
}

/// In a folder with a difficult name.
fn a_task_out_of_time_goes_on_later(bench: &Bench, expected: &[(String, String)]) {
    let cluster = &bench.cluster;
    let out = cluster.at("it's a \"shared\" $folder");
    let (text, _) = bench.study(&["run", "--executor", "slurm", "--dry-run"], &out);
    assert!(text.contains("#SBATCH --requeue") && !out.exists(), "{text}");
    what_is_refused_leaves_nothing_behind(bench, &out);
    let (job, _) = bench.submit(&["run"], &out);
    // What was submitted is what runs, whatever becomes of the file.
    fs::write(&bench.file, STUDY.replace("updates = 3000", "updates = 1")).unwrap();
    let (task, runner, _) = bench.running(job);
    fs::write(&bench.file, STUDY).unwrap();
    // The very signal that Slurm sends before the limit; stopped, the runner can not end before it.
    let id = format!("{job}_{task}");
    signal(runner, "STOP");
    cluster.run("scancel", &["--signal=USR1", "--batch", &id]).expect("scancel");
    cluster.until("the script's trap", || is_told_to_end(runner).then_some(()));
    signal(runner, "CONT");
    cluster.until("a task back in the queue", || {
        let is_back = |t: &(u64, String, String)| t.0 == task && t.1 == "PENDING";
        cluster.tasks(job).iter().any(is_back).then_some(())
    });
    assert!(!Path::new(&format!("/proc/{runner}")).exists(), "it saved and ended");
    // Slurm holds a requeued task back for two minutes. In the very second in which it ended a node
    // would refuse it: its credential is told from the revoked one by the second in which it was
    // made.
    cluster.until("a release", || {
        cluster.run("scontrol", &["update", &format!("JobId={id}"), "StartTime=now+3"])
    });
    cluster.until("the first study", || (bench.done(&out) == UNITS).then_some(()));
    let found = tables(&bench.tables(&out));
    assert_eq!(found, expected, "{}", logs(&out));
    assert!(logs(&out).contains("out of time"), "{}", logs(&out));
    let (text, _) = bench.study(&["run", "--executor", "slurm"], &out);
    assert!(text.contains("nothing is missing: 24 done"), "{text}");
}

fn what_is_refused_leaves_nothing_behind(bench: &Bench, out: &Path) {
    let (file, folder) = (bench.file.to_str().unwrap(), out.to_str().unwrap());
    let args = ["study", "run", file, "--out", folder, "--executor", "slurm"];
    let args = [args.as_slice(), &["--", "--partition", "nowhere"]].concat();
    let output = bench.cluster.output(&bench.program, &args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.contains("error")).collect();
    assert!(errors.len() == 1 && errors[0].contains("nowhere"), "{said}");
    assert!(said.contains("hint:") && !out.exists(), "{said}");
}

fn what_was_lost_is_sent_again(bench: &mut Bench, expected: &[(String, String)]) {
    let out = bench.cluster.at("lossy");
    let (job, _) = bench.submit(&["run"], &out);
    bench.cluster.until("the first units", || (bench.done(&out) >= 3).then_some(()));
    // One task is killed; Slurm does not send a failed task again.
    let (first, runner, _) = bench.running(job);
    signal(runner, "KILL");
    bench.cluster.until("the end of a killed task", || {
        bench.cluster.tasks(job).iter().all(|t| t.0 != first).then_some(())
    });
    // Another is cancelled.
    let (second, ..) = bench.running(job);
    bench.cluster.run("scancel", &[format!("{job}_{second}")]).expect("scancel");
    bench.cluster.until("the end of a cancelled task", || {
        bench.cluster.tasks(job).iter().all(|t| t.0 != second).then_some(())
    });
    // A third dies with its node; Slurm notices that, and sends it again later.
    let (third, runner, node) = bench.running(job);
    signal(runner, "STOP"); // it must not end before its node does
    bench.cluster.kill_node(usize::from(node == "node2"));
    bench.cluster.until("a lost node", || {
        let is_back = |t: &(u64, String, String)| t.0 == third && t.1 == "PENDING";
        bench.cluster.tasks(job).iter().any(is_back).then_some(())
    });
    let third_id = format!("{job}_{third}");
    bench.cluster.run("scontrol", &["hold", &third_id]).expect("scontrol hold");
    bench.cluster.until("the end of what still runs", || {
        bench.cluster.tasks(job).iter().all(|t| t.0 == third).then_some(())
    });
    let done = bench.done(&out);
    assert!(done < UNITS, "nothing was lost: {done} units done\n{}", logs(&out));
    let (text, _) = bench.study(&["status"], &out);
    assert!(text.contains("Slurm") && text.contains("pending"), "{text}");

    bench.cluster.start_node(usize::from(node == "node2"));
    let (again, warned) = bench.submit(&["run"], &out);
    assert!(again != job && warned.contains("still in the queue"), "{warned}");
    bench.cluster.until("the second study", || (bench.done(&out) == UNITS).then_some(()));
    // The task that Slurm held back comes last and finds everything done.
    bench.cluster.run("scontrol", &["release", &third_id]).expect("scontrol release");
    let update = ["update", &format!("JobId={third_id}"), "StartTime=now"];
    bench.cluster.run("scontrol", &update).expect("scontrol update");
    bench.cluster.until("an empty queue", || {
        bench.cluster.run("squeue", &["--noheader"]).filter(|text| text.trim().is_empty())
    });
    bench.study(&["collect"], &out);
    assert_eq!(tables(&out.join("tables/tiny")), expected, "{}", logs(&out));
    let verify = ["study".as_ref(), "verify".as_ref(), out.as_os_str()];
    assert!(bench.cluster.run(&bench.program, &verify).is_some_and(|text| text.contains("sound")));
}
