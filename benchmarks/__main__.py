"""Run every benchmark that needs no data of its own: `make bench`."""

from benchmarks import engines, metrics, model, reading, rendering, segmenter, transmission, transmission_loss

for benchmark in (transmission, transmission_loss, metrics, model, segmenter, rendering, reading, engines):
    benchmark.main()
