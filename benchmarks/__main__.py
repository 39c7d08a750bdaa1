"""Run every benchmark that this machine can run: `make bench`."""

from benchmarks import metrics, transmission, transmission_loss

for benchmark in (transmission, transmission_loss, metrics):
    benchmark.main()
