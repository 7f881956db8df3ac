import json

import backcut
import numpy as np
import pytest

COST = "cost = [b@0.2] - [a@0.2] > 0"


def long_rows(seeds=6):
    rows = []
    for seed in range(1, seeds + 1):
        rows.append({"seed": seed, "arm": "a", "condition": "0.2", "value": 1 + 0.013 * seed % 0.07})
        rows.append({"seed": seed, "arm": "b", "condition": "0.2", "value": 1.1 + 0.031 * seed % 0.05})
    return rows


def columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def csv(rows):
    lines = [",".join(rows[0])] + [",".join("" if v is None else str(v) for v in row.values()) for row in rows]
    return "\n".join(lines) + "\n"


def same(report, printed):
    printed = {key: value for key, value in printed.items() if key not in ("left_out", "plans")}
    assert report.data == printed


def test_a_mapping_of_columns_gives_the_commands_report(judged):
    report = backcut.stats(columns(long_rows()), COST)
    same(report, judged(csv(long_rows()), "--contrast", COST))
    assert report.verdict() == report.verdict("cost") == "supported"


def test_options_reach_the_family(judged):
    undirected = COST.removesuffix(" > 0")
    report = backcut.stats(columns(long_rows()), undirected, margin=0.5, one_sided=True, alpha=0.1, draws=2000, seed=7)
    words = "--margin 0.5 --one-sided --alpha 0.1 --draws 2000 --seed 7".split()
    same(report, judged(csv(long_rows()), "--contrast", undirected, *words))


def test_a_missing_value_is_an_error_or_a_source_left_out(judged):
    rows = long_rows(7)
    rows[3]["value"] = None
    with pytest.raises(backcut.Error, match="hint:"):
        backcut.stats(columns(rows), COST)
    report = backcut.stats(columns(rows), COST, drop_incomplete=True)
    assert report.data["notes"][0] == "1 of 7 sources left out for missing values: 2"
    same(report, judged(csv(rows), "--contrast", COST, "--drop-incomplete"))
    rows[3]["value"] = float("nan")
    assert backcut.stats(columns(rows), COST, drop_incomplete=True).data == report.data


def test_columns_may_have_other_names():
    table = {"run": [], "method": [], "loss": []}
    for row in long_rows():
        table["run"].append(row["seed"])
        table["method"].append(row["arm"])
        table["loss"].append(row["value"])
    report = backcut.stats(table, "[b] - [a] > 0", source="run", arm="method", value="loss")
    assert report.rows["estimate"] == backcut.stats(columns(long_rows()), COST).rows["estimate"]
    with pytest.raises(backcut.Error, match="`score`"):
        backcut.stats(table, "[b] - [a]", source="run", arm="method", value="score")


def test_errors_say_what_and_what_to_do():
    with pytest.raises(backcut.Error, match="no table"):
        backcut.stats(3, COST)
    with pytest.raises(backcut.Error, match="two columns|column `a` has"):
        backcut.stats({"seed": [1, 2], "a": [1.0]}, "[a] > 0")
    with pytest.raises(backcut.Error, match="true and false"):
        backcut.stats({"seed": [1, 2], "a": [True, False]}, "[a] > 0")
    with pytest.raises(ValueError):
        backcut.stats(columns(long_rows()), "[nothing@0.2] > 0")
    with pytest.raises(backcut.Error, match=r'give "difference = \[b@0.2\] - \[a@0.2\]"(.|\n)*\[a@0.2\]  6 of them'):
        backcut.stats(columns(long_rows()))


def test_a_notebook_gets_a_figure():
    report = backcut.stats(columns(long_rows()), COST)
    assert report._repr_svg_().startswith("<svg") and "cost" in report._repr_svg_()
    assert "<table>" in report._repr_html_() and "supported" in report._repr_html_()
    assert "cost" in repr(report)
    assert json.dumps(report.data)


def test_names_of_others_do_not_act_on_a_terminal(tmp_path):
    names = {"a": "a\x1b[2J", "b": "b\u202e"}
    rows = [{**row, "arm": names[row["arm"]]} for row in long_rows()]
    report = backcut.stats(columns(rows), f"[{names['b']}@0.2] - [{names['a']}@0.2]")
    compared = backcut.compare({"w\x1b": np.ones(3)}, {name: {"w\x1b": np.ones(3)} for name in names.values()})
    (tmp_path / "t\u202e.csv").write_text("a\n1\n")
    with pytest.raises(backcut.Error) as raised:
        backcut.stats(columns(rows))
    with pytest.raises(backcut.Error) as own:
        raise backcut.Error(names["a"])
    texts = [repr(report), report._repr_html_(), repr(compared), compared._repr_html_(), compared.table.to_csv(),
             repr(compared.table), repr(backcut.results(tmp_path)), str(raised.value), str(own.value)]
    for text in texts:
        assert "[U+001B]" in text or "[U+202E]" in text
        assert "\x1b" not in text and "\u202e" not in text, repr(text)
