"""Let pytest explain assertions of modules that tests share."""

import pytest

pytest.register_assert_rewrite("tests.unit.dragoman.claims.cases")
