import subprocess
import sys


def test_importing_loads_nothing_heavy():
    code = ("import sys, backcut; heavy = {'numpy', 'jax', 'torch', 'pandas', 'polars', 'pyarrow'};"
            "print(sorted(heavy & set(sys.modules)))")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


def test_every_public_name_is_there():
    import backcut
    for name in backcut.__all__:
        if name not in ("torch", "jax"):
            assert getattr(backcut, name) is not None, name
    try:
        backcut.nothing
    except AttributeError as error:
        assert "nothing" in str(error)
    else:
        raise AssertionError("a name that is not there")
