"""The command that comes with the package is the one that Cargo builds."""
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


def test_an_interrupt_is_the_command_s_own():
    code = """
import signal
import backcut.__main__ as command
command._backcut.run = lambda line: int(signal.getsignal(signal.SIGINT) is signal.SIG_DFL)
print(command.main())
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "1\n", found.stderr
