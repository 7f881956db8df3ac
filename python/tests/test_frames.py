"""Data frames by Arrow's stream, and those that offer none: the verdicts of the same numbers in a file."""
import backcut
import pytest
from test_stats import COST, columns, csv, long_rows, same

ROWS = [{**row, "value": None if i == 3 else row["value"]} for i, row in enumerate(long_rows(7))]


@pytest.fixture
def want(judged):
    return judged(csv(ROWS), "--contrast", COST, "--drop-incomplete")


def judge(frame, **options):
    return backcut.stats(frame, COST, drop_incomplete=True, **options)


class Streamed:
    """Nothing but a stream, so no other way can have been taken."""

    def __init__(self, table):
        self.table, self.asked = table, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.asked += 1
        return self.table.__arrow_c_stream__(requested_schema)


def arrow(**types):
    core = pytest.importorskip("arro3.core")
    kinds = {"seed": "int64", "arm": "utf8", "condition": "utf8", "value": "float64", **types}
    return core.Table.from_pydict({name: core.Array(values, type=getattr(core.DataType, kinds[name])())
                                   for name, values in columns(ROWS).items()})


@pytest.mark.parametrize("types", [{}, {"seed": "uint8", "arm": "large_utf8", "condition": "string_view"}])
def test_a_stream_is_read_without_a_library(want, types):
    frame = Streamed(arrow(**types))
    same(judge(frame), want)
    assert frame.asked == 1


def test_single_precision_is_taken_as_it_is(judged):
    import numpy as np
    narrow = [{**row, "value": float(np.float32(row["value"]))} for row in ROWS if row["value"] is not None]
    want = judged(csv(narrow), "--contrast", COST, "--drop-incomplete")
    same(judge(Streamed(arrow(value="float32"))), want)


def test_columns_that_are_neither_text_nor_numbers_are_errors():
    core = pytest.importorskip("arro3.core")
    seeds = core.Array([1, 2], type=core.DataType.int64())
    flags = core.Array([True, False], type=core.DataType.bool())
    with pytest.raises(backcut.Error, match="`a` holds true and false"):
        backcut.stats(core.Table.from_pydict({"seed": seeds, "a": flags}), "[a] > 0")
    with pytest.raises(backcut.Error, match="no rows"):
        backcut.stats(core.Table.from_pydict({"seed": seeds, "a": seeds}).slice(0, 0), "[a] > 0")


@pytest.mark.parametrize("offers", [True, False])
def test_pandas_with_and_without_a_stream(want, monkeypatch, offers):
    pandas = pytest.importorskip("pandas")
    if offers:
        pytest.importorskip("pyarrow")
        monkeypatch.setattr("backcut._stats._columns", None)
    else:
        monkeypatch.delattr(pandas.DataFrame, "__arrow_c_stream__", raising=False)
    frame = pandas.DataFrame(columns(ROWS))
    same(judge(frame), want)
    same(judge(frame.astype({"arm": "category", "seed": "int16"})), want)
    same(judge(frame.set_index("seed")), want)


def test_a_column_that_arrow_has_no_type_for_is_read_entry_by_entry(want):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns(ROWS))
    mixed = frame["seed"].astype(object)
    mixed[0] = "1"
    same(judge(frame.assign(seed=mixed)), want)


def test_polars_frames_lazy_or_not(want, monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.setattr("backcut._stats._columns", None)
    frame = polars.DataFrame(columns(ROWS))
    same(judge(frame), want)
    same(judge(frame.with_columns(polars.col("arm").cast(polars.Categorical)).lazy()), want)


def test_duckdbs_results(want):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    frame = arrow()  # noqa: F841, duckdb finds it by its name
    same(judge(duckdb.sql("select * from frame order by seed, arm")), want)
