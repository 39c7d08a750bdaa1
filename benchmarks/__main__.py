"""Run every benchmark that needs no data of its own: `make bench`."""

from benchmarks import metrics, model, reading, rendering, segmenter, transmission, transmission_loss

for benchmark in (transmission, transmission_loss, metrics, model, segmenter, rendering, reading):
    benchmark.main()
