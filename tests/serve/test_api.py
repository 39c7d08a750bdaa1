"""The API against its own OpenAPI document, by schemathesis: whatever is sent, the answer is as described."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from smokescope.serve.app import create_app
from smokescope.serve.limits import Limits
from smokescope.serve.service import Service
from tests.serve.service import MODEL, Brightness, live

TOKEN = "a-token-for-the-tests"
KEY = {"Authorization": f"Bearer {TOKEN}"}


def service() -> Service:
    return Service(Brightness(), MODEL, Limits(), TOKEN)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with live(service()) as found:
        yield found


schema = schemathesis.openapi.from_dict(create_app(service()).openapi())


@schema.parametrize()
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_answers_are_as_the_document_says(case: schemathesis.Case[Any], address: str) -> None:
    # no schema can say which bytes are a picture: that others are refused is no fault
    case.call_and_validate(base_url=address, headers=KEY, excluded_checks=[positive_data_acceptance])


def test_the_document_tells_of_everything() -> None:
    paths = schema.raw_schema["paths"]
    assert paths.keys() == {"/v1/segment", "/v1/model", "/livez", "/readyz", "/metrics"}
    statuses = paths["/v1/segment"]["post"]["responses"].keys()
    told = {"200", "400", "401", "403", "406", "408", "413", "415", "422", "500", "503", "504"}
    assert statuses == told
