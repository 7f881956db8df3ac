//! The text of the scripts that are handed to `sbatch`.
//!
//! **No path stands in an `#SBATCH` line.** Those lines have quoting rules that differ between versions, and
//! file names in them have patterns (`%j`). A job's working folder is the folder of its script, logs
//! have plain names in it, and paths appear only in shell commands, quoted.

use std::path::Path;

use crate::error::StudyError;
use crate::slurm::options::Options;
use crate::slurm::shards::Shards;

/// What a job runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commands {
    /// The study's name: letters, digits, `-` and `_`.
    pub name: String,
    /// The number of the submission.
    pub number: u32,
    /// The program, quoted.
    program: String,
    /// The study file or the name of a built-in study, quoted.
    file: String,
    /// The results folder, quoted.
    out: String,
    /// Further options of `study run`, each quoted.
    pub options: Vec<String>,
}

impl Commands {
    /// Paths must be absolute, except the name of a built-in study.
    pub fn new(
        name: &str,
        number: u32,
        program: &Path,
        file: &Path,
        out: &Path,
        options: &[String],
    ) -> Result<Self, StudyError> {
        // The one path that Slurm reads: logs lie in the working folder, and patterns in it are replaced.
        if text(out)?.contains(|c: char| c == '%' || c == '\\' || c.is_control()) {
            let what =
                format!("{}: a folder with %, \\ or a line break in its name", out.display());
            return Err(StudyError::invalid(
                what,
                "Slurm would not find its logs there: choose another --out",
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            number,
            program: quote(text(program)?),
            file: quote(text(file)?),
            out: quote(text(out)?),
            options: options.iter().map(|option| quote(option)).collect(),
        })
    }
}

fn text(path: &Path) -> Result<&str, StudyError> {
    path.to_str().ok_or_else(|| {
        let hint = "rename the folder: a script for Slurm is text";
        StudyError::invalid(format!("{}: not valid UTF-8", path.display()), hint)
    })
}

/// A word that a POSIX shell reads back as `text`, whatever it holds.
pub fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=+:@,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The array of shards.
///
/// Thirty seconds or more before its limit Slurm sends USR1 to the shell alone; the trap stops the
/// runner, which saves, and puts the task back into the queue. TERM (from `scancel` or a preemption)
/// stops the runner too, but what becomes of the task is then for Slurm to decide.
pub fn array_script(commands: &Commands, shards: &Shards, options: &Options) -> String {
    let Commands { name, number, program, file, out, .. } = commands;
    let limit = options.nodes.or(options.array_limit);
    let limit = limit.map_or(String::new(), |limit| format!("%{limit}"));
    let mut lines = vec![format!("--job-name=backcut-{name}")];
    lines.push(format!("--array={}{limit}", shards.array()));
    lines.extend(["--nodes=1".to_owned(), "--ntasks=1".to_owned()]);
    if options.nodes.is_some() {
        lines.push("--exclusive".to_owned());
    }
    if let Some(cpus) = options.cpus_per_task {
        lines.push(format!("--cpus-per-task={cpus}"));
    }
    lines.extend(options.time.as_ref().map(|time| format!("--time={time}")));
    lines.extend(charged(options));
    lines.push(format!("--output={name}-{number}-%a.log"));
    lines.extend(["--open-mode=append", "--requeue", "--signal=B:USR1@30"].map(str::to_owned));
    let extra = commands.options.join(" ");
    let (count, units) = (shards.count, shards.units);
    format!(
        r#"{}
# Study {name}: {units} units to compute. A task is one shard of {count}; it may be killed, requeued or
# repeated at any time: finished units are found by their files, begun ones go on from their last save.

runner=
was_signalled=
is_out_of_time=
stop() {{
    was_signalled=yes
    if [ -n "$runner" ]; then kill -TERM "$runner" 2>/dev/null; fi
}}
trap 'is_out_of_time=yes; stop' USR1
trap stop TERM INT

{program} study run {file} \
    --out {out} \
    --shard "$SLURM_ARRAY_TASK_ID/{count}" \
    --jobs "${{SLURM_CPUS_PER_TASK:-${{SLURM_CPUS_ON_NODE:-1}}}}" {extra} &
runner=$!
if [ -n "$was_signalled" ]; then stop; fi

# A signal interrupts `wait`, not the runner: wait until it has saved and ended.
while :; do
    was_signalled=
    wait "$runner"
    code=$?
    if [ -z "$was_signalled" ]; then break; fi
done

if [ -n "$is_out_of_time" ] && [ "$code" -ne 0 ]; then
    echo "out of time: task $SLURM_ARRAY_TASK_ID goes back into the queue"
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" && exit 0
fi
exit "$code"
"#,
        header(&lines)
    )
}

/// The job that makes the tables when the array has ended, however it ended.
pub fn collect_script(commands: &Commands, options: &Options) -> String {
    let Commands { name, number, program, file, out, .. } = commands;
    let mut lines = vec![format!("--job-name=backcut-{name}-collect")];
    lines.extend(["--nodes=1".to_owned(), "--ntasks=1".to_owned()]);
    lines.extend(charged(options));
    lines.push(format!("--output={name}-{number}-collect.log"));
    lines.extend(["--open-mode=append".to_owned(), "--requeue".to_owned()]);
    format!("{}\n{program} study collect {file} \\\n    --out {out}\n", header(&lines))
}

fn charged(options: &Options) -> Vec<String> {
    let partition = options.partition.as_ref().map(|word| format!("--partition={word}"));
    let account = options.account.as_ref().map(|word| format!("--account={word}"));
    partition.into_iter().chain(account).collect()
}

fn header(lines: &[String]) -> String {
    format!("#!/bin/bash\n#SBATCH {}\n", lines.join("\n#SBATCH "))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::process::Command;

    use super::*;

    fn options() -> Options {
        Options {
            nodes: None,
            time: Some("2:00:00".parse().unwrap()),
            partition: Some("main".parse().unwrap()),
            account: None,
            array_limit: NonZeroU32::new(4),
            units_per_task: NonZeroU32::new(8).unwrap(),
            cpus_per_task: NonZeroU32::new(2),
        }
    }

    fn commands(out: &str) -> Commands {
        let options = ["--stale-after", "120"].map(str::to_owned);
        let file = Path::new("/shared/out/slurm/tiny-1/tiny.toml");
        Commands::new("tiny", 1, Path::new("/opt/backcut"), file, Path::new(out), &options).unwrap()
    }

    fn shards() -> Shards {
        Shards { count: 9, tasks: vec![1, 2, 3, 7], units: 30, largest: 8 }
    }

    #[test]
    fn scripts_are_what_they_were() {
        let array = array_script(&commands("/shared/out"), &shards(), &options());
        assert_eq!(array, include_str!("golden/array.sbatch"));
        let collect = collect_script(&commands("/shared/out"), &options());
        assert_eq!(collect, include_str!("golden/collect.sbatch"));
    }

    #[test]
    fn whole_nodes_are_exclusive_and_one_task_each() {
        let whole = Options { nodes: NonZeroU32::new(3), cpus_per_task: None, ..options() };
        let text = array_script(&commands("/shared/out"), &shards(), &whole);
        assert!(
            text.contains("#SBATCH --array=1-3,7%3\n") && text.contains("#SBATCH --exclusive\n")
        );
        assert!(!text.contains("--cpus-per-task"));
    }

    #[test]
    fn a_shell_reads_quoted_text_back_exactly() {
        let nasty = [
            "plain/path-1.toml",
            "",
            "a b",
            "it's \"here\"",
            "$HOME `id` $(id) \\ \\\\ \\n",
            "'",
            "''a''",
            "two\nlines\ttab",
            "* ? [a] {a,b} ~ # ! & | ; < > ( )",
            "-n",
            "\u{fc}ber %j",
        ];
        for text in nasty {
            let script = format!("printf %s {}", quote(text));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text, "{script}");
            assert!(output.status.success() && output.stderr.is_empty());
        }
    }

    #[test]
    fn folders_that_slurm_would_misread_are_refused() {
        for out in ["/shared/%j", "/a\\b", "/a\nb"] {
            let made = Commands::new("x", 1, Path::new("/b"), Path::new("f"), Path::new(out), &[]);
            assert!(made.unwrap_err().to_string().contains("a folder with %"), "{out}");
        }
    }

    /// Runs the array script with stand-ins for the program and for `scontrol`, and a signal on the way.
    #[cfg(unix)]
    fn perform(signal: Option<&str>, code: i32) -> (i32, String) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::Builder::new().prefix("a b'c\"d $x ").tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let runner = "#!/bin/sh\ntrap 'echo saved; exit 130' TERM\necho \"ran $*\"\n: > \"$STARTED\"\n\
            [ -z \"$HANG\" ] || while :; do sleep 0.02; done\n";
        let program = put("back cut", &format!("{runner}exit {code}\n"));
        put("scontrol", "#!/bin/sh\necho \"scontrol $*\"\n");
        let out = folder.path().join("out 1");
        let commands = Commands::new("tiny", 1, &program, Path::new("quick"), &out, &[]).unwrap();
        let script = put("job", &array_script(&commands, &shards(), &options()));
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let started = folder.path().join("started");
        let child = Command::new("bash")
            .arg(&script)
            .envs([("PATH", path.as_str()), ("HANG", signal.unwrap_or_default())])
            .envs([("SLURM_ARRAY_JOB_ID", "41"), ("SLURM_ARRAY_TASK_ID", "7")])
            .env("SLURM_CPUS_PER_TASK", "2")
            .env("STARTED", &started)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(signal) = signal {
            while !started.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
            assert!(kill.unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text.replace(&out.display().to_string(), "OUT"))
    }

    #[test]
    #[cfg(unix)]
    fn the_script_saves_and_requeues_when_its_time_is_up() {
        let ran = "ran study run quick --out OUT --shard 7/9 --jobs 2\n";
        assert_eq!(perform(None, 0), (0, ran.to_owned()));
        assert_eq!(perform(None, 1), (1, ran.to_owned()));
        let requeued = format!(
            "{ran}saved\nout of time: task 7 goes back into the queue\nscontrol requeue 41_7\n"
        );
        assert_eq!(perform(Some("USR1"), 0), (0, requeued));
        // Whoever sends TERM decides what becomes of the task.
        assert_eq!(perform(Some("TERM"), 0), (130, format!("{ran}saved\n")));
    }
}
