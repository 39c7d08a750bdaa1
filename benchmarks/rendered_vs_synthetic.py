"""Is rendered smoke better training data than a synthetic set? The same small segmenter, trained on each.

    python -m benchmarks.rendered_vs_synthetic SMOKE5K_TRAIN NEGATIVES [--steps 1500] [--seeds 2]

Three diets, with the same network, steps, batch and augmentation: SMOKE5K's 4,000 synthetic pictures; those
and the negatives as pictures without smoke; and smoke rendered over the negatives. All are tested on
SMOKE5K's real training pictures, none of which was trained on, and apart from them on those whose view is not
among the negatives. Some scenes of the negatives are held out for false alarms.
"""

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.timing import table
from smokescope.chance import make_keys
from smokescope.data.layouts import Pair, list_negatives, list_pairs
from smokescope.data.pairs import read_pair
from smokescope.data.scenes import THRESHOLD, Grouping
from smokescope.data.views import Views, describe_view
from smokescope.losses import structure_loss
from smokescope.metrics import SmokeMetrics
from smokescope.metrics.suite import Report
from smokescope.physics.rendering.lookalikes import render_lookalikes
from smokescope.physics.rendering.smoke import render_smoke

HELD_OUT = 0.2  # of a camera network's frames, at least: whole scenes, the last by name
Batch = tuple[Tensor, Tensor]


class SmallUNet(nn.Module):
    """Five levels, 1.9 M weights, from scratch."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width, 6 * width, 8 * width]
        self.down = nn.ModuleList(_double(a, b) for a, b in zip([3, *widths], widths, strict=False))
        self.up = nn.ModuleList(_double(widths[i + 1] + widths[i], widths[i]) for i in range(3, -1, -1))
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Pictures [N, 3, H, W] in [0, 1] to logits [N, 1, H, W]."""
        features = []
        for i, layer in enumerate(self.down):
            x = layer(functional.max_pool2d(x, 2) if i else x - 0.45)
            features.append(x)
        for layer, skip in zip(self.up, features[-2::-1], strict=True):
            x = layer(torch.cat((functional.interpolate(x, skip.shape[-2:], mode="bilinear"), skip), 1))
        logits: Tensor = self.head(x)
        return logits


def _double(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


def load(pairs: list[Pair], size: int, device: torch.device) -> Batch:
    """All pictures squashed to one size, as uint8 on the device."""
    pictures, masks = [], []
    for pair in pairs:
        picture, mask = read_pair(pair)
        pictures.append(torch.from_numpy(cv2.resize(picture, (size, size), interpolation=cv2.INTER_AREA)))
        masks.append(torch.from_numpy(cv2.resize(mask, (size, size), interpolation=cv2.INTER_AREA)))
    return torch.stack(pictures).permute(0, 3, 1, 2).to(device), torch.stack(masks).unsqueeze(1).to(device)


def scenes(pairs: list[Pair]) -> list[int]:
    """A number for each picture's scene."""
    grouping = Grouping(Views.stack([describe_view(read_pair(pair)[0]) for pair in pairs]), THRESHOLD)
    for index in range(len(pairs)):
        grouping.link(index)
    return [int(scene) for scene in grouping.scenes]


def hold_out(pairs: list[Pair]) -> set[str]:
    """Names of pictures whose scenes are kept from training, the last scenes by name."""
    number = dict(zip((pair.name for pair in pairs), scenes(pairs), strict=True))
    held: set[str] = set()
    for name in sorted(number, reverse=True):
        if len(held) < HELD_OUT * len(number):
            held |= {other for other in number if number[other] == number[name]}
    return held


def augment(pictures: Tensor, masks: Tensor, generator: torch.Generator) -> Batch:
    """Flip, scale and shift, and change the light; the same for every diet."""
    count = len(pictures)
    r = torch.rand(7, count, generator=generator).to(pictures.device)
    scale = 0.5 * 3 ** r[0]  # of the picture as seen: 0.5 to 1.5
    theta = torch.zeros(count, 2, 3, device=pictures.device)
    theta[:, 0, 0], theta[:, 1, 1] = torch.where(r[1] < 0.5, -1.0, 1.0) / scale, 1 / scale
    theta[:, 0, 2], theta[:, 1, 2] = (
        (r[2] - 0.5) * (1 - 1 / scale).abs(),
        (r[3] - 0.5) * (1 - 1 / scale).abs(),
    )
    grid = functional.affine_grid(theta, list(masks.shape), align_corners=False)
    pictures = functional.grid_sample(pictures, grid, padding_mode="reflection", align_corners=False)
    masks = functional.grid_sample(masks, grid, padding_mode="reflection", align_corners=False)
    gamma, gain, grey = (0.6 + 0.8 * r[4]), (0.8 + 0.4 * r[5]), (r[6] < 0.1).float()
    pictures = (pictures.clamp(1e-4, 1) ** gamma.view(-1, 1, 1, 1)) * gain.view(-1, 1, 1, 1)
    pictures = torch.lerp(
        pictures, pictures.mean(1, keepdim=True).expand_as(pictures), grey.view(-1, 1, 1, 1)
    )
    return pictures.clamp(0, 1), masks


def train(draw: Callable[[int], Batch], steps: int, seed: int, device: torch.device) -> nn.Module:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = SmallUNet().to(device)
    # what a GPU convolves fastest; torch's types leave it out
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps)
    for step in range(steps):
        pictures, masks = augment(*draw(seed * 1_000_003 + step), generator)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            logits = model(pictures.contiguous(memory_format=torch.channels_last))
        optimiser.zero_grad(set_to_none=True)
        structure_loss(logits, masks).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def test(model: nn.Module, smoke: Batch, none: Batch) -> Report:
    metrics = SmokeMetrics().to(smoke[0].device)
    for pictures, masks in (smoke, none):
        for some, their in zip(pictures.split(32), masks.split(32), strict=True):
            some = (some / 255).contiguous(memory_format=torch.channels_last)
            metrics.update(torch.sigmoid(model(some))[:, 0], their[:, 0] > 0.5)
    return metrics.compute()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("smoke5k", type=Path)
    parser.add_argument("negatives", type=Path)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--size", type=int, default=352)
    parser.add_argument("--batch", type=int, default=24)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    pairs = list_pairs(args.smoke5k).pairs
    synthetic = load([p for p in pairs if re.fullmatch(r"\d+_\d+", p.name)], args.size, device)
    real_pairs = [p for p in pairs if not re.fullmatch(r"\d+_\d+", p.name)]
    negatives = list_negatives(args.negatives).pairs
    held = hold_out([p for p in negatives if "hpwren" in p.name])
    kept_pairs = [p for p in negatives if p.name not in held]
    number = scenes([*real_pairs, *kept_pairs])
    familiar = set(number[len(real_pairs) :])
    new = torch.tensor([n not in familiar for n in number[: len(real_pairs)]], device=device)
    real = load(real_pairs, args.size, device)
    kept = load(kept_pairs, args.size, device)
    unseen = load([p for p in negatives if p.name in held], args.size, device)

    def pick(data: Batch, count: int, seed: int) -> Batch:
        index = torch.randint(len(data[0]), (count,), generator=torch.Generator().manual_seed(seed)).to(
            device
        )
        return data[0][index] / 255, data[1][index]

    def with_negatives(seed: int) -> Batch:
        return _join(pick(synthetic, args.batch * 2 // 3, seed), pick(kept, args.batch // 3, seed + 1))

    def rendered(seed: int) -> Batch:
        over, _ = pick(kept, args.batch * 2 // 3, seed)
        keys = make_keys(seed, torch.arange(len(over), device=device))
        smoke = render_smoke(over, keys)
        plain, empty = pick(kept, args.batch // 3, seed + 1)
        half = len(plain) // 2
        plain = torch.cat((render_lookalikes(plain[:half], keys[:half]), plain[half:]))
        return _join((smoke.picture, smoke.mask), (plain, empty))

    diets: dict[str, Callable[[int], Batch]] = {
        "4,000 synthetic": lambda seed: pick(synthetic, args.batch, seed),
        "4,000 synthetic + negatives": with_negatives,
        "rendered over negatives": rendered,
    }

    def figures_of(draw: Callable[[int], Batch], seed: int) -> tuple[float, ...]:
        model = train(draw, args.steps, seed, device)
        apart = test(model, (real[0][new], real[1][new]), unseen)["f_beta"]["mean"]
        return *_figures(test(model, real, unseen)), float("nan") if apart is None else apart

    rows = []
    for name, draw in diets.items():
        start = time.perf_counter()
        figures = np.array([figures_of(draw, seed) for seed in range(args.seeds)]).T
        rows.append((name, *(" / ".join(f"{v:.3f}" for v in row) for row in figures)))
        print(f"{name}: {time.perf_counter() - start:.0f} s, {rows[-1][1:]}", flush=True)
    table(
        f"Trained {args.steps} steps of {args.batch} at {args.size} x {args.size}; tested on {len(real[0])} "
        f"real pictures ({int(new.sum())} of views that no negative has) and {len(unseen[0])} pictures of "
        "held-out scenes without smoke; a figure a seed",
        (
            "trained on",
            "f_beta mean",
            "f_beta max",
            "iou image",
            "detection rate",
            "false alarms",
            "auroc",
            "f_beta mean, new views",
        ),
        rows,
    )


def _join(one: Batch, other: Batch) -> Batch:
    return torch.cat((one[0], other[0])), torch.cat((one[1], other[1]))


def _figures(report: Report) -> tuple[float, ...]:
    f, alarm = report["f_beta"], report["alarm"]
    figures = (f["mean"], f["max"], report["iou"]["image"])
    rates = (alarm["detection_rate"], alarm["false_alarm_rate"], alarm["auroc"])
    return tuple(float("nan") if v is None else v for v in (*figures, *rates))


if __name__ == "__main__":
    main()
