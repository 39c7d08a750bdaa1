"""JSON files: what is written reads back, and what is no JSON is refused, however it is none."""

import math
from pathlib import Path

import pytest

from smokescope.data.json_files import encode_json, read_json
from smokescope.errors import SmokescopeError


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    document = {"name": "hügel\udcff", "figures": [1, 0.1, None, True]}
    (tmp_path / "a.json").write_bytes(encode_json(document))
    assert read_json(tmp_path / "a.json") == document
    assert encode_json({"a": [1]}, indent=2) == b'{\n  "a": [\n    1\n  ]\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_json({"a": math.nan})


@pytest.mark.parametrize("text", ['{"a": ', '{"a": NaN}', "[-Infinity]", '{"a":' * 100_000, "\xff"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"."):
        read_json(tmp_path / "a.json")
    with pytest.raises(SmokescopeError, match=r"b\.json does not exist"):
        read_json(tmp_path / "b.json")
