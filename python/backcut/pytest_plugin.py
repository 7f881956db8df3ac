"""For pytest: `assert_reach` and `assert_no_credit` as fixtures."""
from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def assert_reach() -> Any:
    """`backcut.testing.assert_reach`"""
    from . import testing
    return testing.assert_reach


@pytest.fixture
def assert_no_credit() -> Any:
    """`backcut.testing.assert_no_credit`"""
    from . import testing
    return testing.assert_no_credit
