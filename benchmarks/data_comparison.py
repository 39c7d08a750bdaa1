"""What each kind of data is worth: synthetic only, real only, both, and with negatives and rendered smoke.

    python -m benchmarks.data_comparison DATA OUT --folds folds.json [--encoder resnet50.safetensors]

The same network, losses, steps and augmentation for each; tried on real pictures and negatives of scenes that
none has seen. DATA is laid out as `configs/default.yaml` has it: smoke5k/train (synthetic pictures are named
N_N) and negatives.
"""

from dataclasses import replace

from benchmarks.experiment import arguments, compare, load, report_table, save
from smokescope.training.settings import Kind, Source, read_settings
from smokescope.training.sources import Data, Pictures

SYNTHETIC, REAL = r"\d+_\d+", r"(?!\d+_\d+$).*"


def _source(
    kind: Kind, folder: str, weight: float = 1.0, names: str = ".*", validated: bool = True
) -> Source:
    return Source(kind=kind, folder=folder, weight=weight, names=names, validated=validated)


SOURCES = {
    "synthetic": _source("pairs", "smoke5k/train", 1.0, SYNTHETIC, validated=False),
    "real": _source("pairs", "smoke5k/train", 4.0, REAL),  # about as many pictures an epoch
    "negatives": _source("negatives", "negatives", 4.0),
    "rendered": _source("rendered", "negatives", 4.0),
    "lookalikes": _source("lookalikes", "negatives", 2.0),
}
MIXES = {
    "synthetic only": ("synthetic",),
    "real only": ("real",),
    "both": ("synthetic", "real"),
    "both + negatives": ("synthetic", "real", "negatives"),
    "both + negatives + rendered": ("synthetic", "real", "negatives", "rendered", "lookalikes"),
}


def main() -> None:
    args = arguments(__doc__, "default")
    settings = replace(read_settings(args.config, args.set), data=tuple(SOURCES.values()))
    everything = load(settings, args)
    parts = dict(zip(SOURCES, everything.training, strict=True))
    # the same number of steps for all: an epoch of the largest mix is the measure
    pictures = {name: sum(_count(parts[part]) for part in mix) for name, mix in MIXES.items()}
    longest = max(pictures.values())
    variants = {}
    for name, mix in MIXES.items():
        epochs = round(settings.epochs * longest / pictures[name])
        own = replace(settings, data=tuple(SOURCES[part] for part in mix), epochs=epochs)
        variants[name] = (own, Data([parts[part] for part in mix], everything.validation))
    found = compare(variants, args)
    save(args.out, found)
    report_table("Data", found)


def _count(pictures: Pictures) -> float:
    return len(pictures.numbers) * pictures.weight


if __name__ == "__main__":
    main()
