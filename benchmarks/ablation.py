"""The paper's ablation: what the transmission loss and the two entropy losses are worth.

    python -m benchmarks.ablation DATA OUT --folds folds.json [--encoder resnet50.safetensors]

Four rows, each the one before and a loss more, all else equal: base (structure loss and KL divergence); with
the transmission loss; with that and a plain entropy loss; with that and the calibrated one (0.01 for either).
The lengths are reduced but equal. It also draws, into OUT, reliability.html (of the second and the fourth
row), transmission.png (predictions without and with the transmission loss, side by side) and difficulty.png
(simple, normal and difficult pictures with the fourth row's three uncertainties).
"""

from dataclasses import replace

from benchmarks.experiment import arguments, compare, load, report_table, save
from benchmarks.figures import draw_reliability, draw_side_by_side
from smokescope.data.pictures import encode_png
from smokescope.report.run_samples import draw_samples
from smokescope.training.settings import TrainingSettings, read_settings

ROWS = {
    "base": "ablation-1-base",
    "+ transmission": "ablation-2-transmission",
    "+ transmission + entropy": "ablation-3-entropy",
    "+ transmission + calibrated entropy": "ablation-4-calibrated",
}


def with_losses_of(settings: TrainingSettings, config: str) -> TrainingSettings:
    theirs = read_settings(config).objective
    mine = replace(
        settings.objective,
        transmission=theirs.transmission,
        entropy=theirs.entropy,
        calibrated_entropy=theirs.calibrated_entropy,
    )
    return replace(settings, objective=mine)


def main() -> None:
    args = arguments(__doc__, "paper")
    settings = read_settings(args.config, args.set)
    data = load(settings, args)
    variants = {name: (with_losses_of(settings, config), data) for name, config in ROWS.items()}
    found = compare(variants, args)
    save(args.out, found)
    report_table("Ablation", found)
    by_name = {each.name: each for each in found}
    second, fourth = by_name.get("+ transmission"), by_name.get("+ transmission + calibrated entropy")
    if second and fourth:
        draw_reliability(args.out / "reliability.html", [second, fourth])
        (args.out / "difficulty.png").write_bytes(encode_png(draw_samples(fourth.shown)))
    if second and "base" in by_name:
        draw_side_by_side(args.out / "transmission.png", by_name["base"], second)


if __name__ == "__main__":
    main()
