"""The command that comes with the package is the one that Cargo builds."""
import signal
import subprocess
import sys

HERE = [sys.executable, "-m", "backcut"]


def said(*words):
    return subprocess.run([*HERE, *map(str, words)], capture_output=True, text=True)


def test_it_says_what_the_binary_says(command):
    for line in (["--version"], ["explain", "SEG-4", "--steps", "8"], ["study", "--help"]):
        found = said(*line)
        assert found.returncode == 0, found.stderr
        assert found.stdout == command(*line)


def test_a_wrong_line_ends_with_two_and_a_hint():
    found = said("explain", "SEG-x")
    assert found.returncode == 2
    assert "hint:" in found.stderr and "Traceback" not in found.stderr


def test_jobs_call_the_script_and_not_the_interpreter(command, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(command("study", "template"))
    plan = ["study", "run", study, "--out", tmp_path / "out", "--executor", "slurm", "--dry-run"]
    found = said(*plan)
    assert found.returncode == 0, found.stderr
    assert sys.executable not in found.stdout
    assert "backcut" in found.stdout


def test_an_interrupt_ends_it_at_once():
    process = subprocess.Popen([*HERE, "bench"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait() == -signal.SIGINT
    process.stdout.close()
