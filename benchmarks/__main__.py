"""Run every benchmark that needs no data of its own: `make bench`."""

from benchmarks import metrics, reading, rendering, transmission, transmission_loss

for benchmark in (transmission, transmission_loss, metrics, rendering, reading):
    benchmark.main()
