"""Who may ask, and what they may send: refused before it costs anything."""

import pytest

from smokescope.errors import SmokescopeError
from smokescope.serve.limits import check_access, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_this_machine_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    check_access(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "", "localhost.evil.org"])
def test_any_other_address_needs_one(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(SmokescopeError, match="can be reached from other machines: set a token"):
        check_access(host, None)
    check_access(host, "a" * 16)


@pytest.mark.parametrize("token", ["", "short", "a" * 15, "with spaces in between", "größer-als-ascii-"])
def test_a_token_that_is_no_good_is_refused_everywhere(token: str) -> None:
    with pytest.raises(SmokescopeError, match="16 or more ASCII"):
        check_access("127.0.0.1", token)
