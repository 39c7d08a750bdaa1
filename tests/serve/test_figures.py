"""Metrics, as Prometheus' own parser reads them."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from smokescope.serve.figures import Figures, Histogram


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_everything_counted_is_told() -> None:
    figures = Figures()
    figures.requests["/v1/segment", 200] += 2
    figures.requests["other", 404] += 1
    figures.verdicts["smoke"] += 2
    for value in (0.005, 0.3, 99.0):
        figures.seconds.add(value)
    told = samples(figures.text(waiting=3, batches=1))
    assert told["smokescope_requests_total", (("path", "/v1/segment"), ("status", "200"))] == 2
    assert told["smokescope_requests_total", (("path", "other"), ("status", "404"))] == 1
    assert told["smokescope_pictures_total", (("verdict", "smoke"),)] == 2
    assert told["smokescope_pictures_total", (("verdict", "nothing"),)] == 0
    assert told["smokescope_queue_depth", ()] == 3
    assert told["smokescope_batches_total", ()] == 1
    assert told["smokescope_segment_seconds_count", ()] == 3
    assert told["smokescope_segment_seconds_sum", ()] == pytest.approx(99.305)
    assert told["smokescope_segment_seconds_bucket", (("le", "0.01"),)] == 1
    assert told["smokescope_segment_seconds_bucket", (("le", "0.5"),)] == 2
    assert told["smokescope_segment_seconds_bucket", (("le", "+Inf"),)] == 3


def test_a_bound_belongs_to_its_bucket() -> None:
    histogram = Histogram((1.0, 2.0))
    histogram.add(1.0)
    assert histogram.counts == [1, 0, 0]
