"""Rendered pictures a second at 480 x 480: smoke, and what is mistaken for it."""

import torch

from benchmarks.timing import compare, table
from smokescope.chance import make_keys
from smokescope.physics.rendering.lookalikes import render_lookalikes
from smokescope.physics.rendering.smoke import render_smoke


def main() -> None:
    torch.manual_seed(0)
    on_gpu = torch.cuda.is_available()
    batch = 64 if on_gpu else 8
    backgrounds = torch.rand(batch, 3, 480, 480, device="cuda" if on_gpu else "cpu")
    keys = make_keys(0, torch.arange(batch, device=backgrounds.device))
    seconds = compare(
        {
            "smoke": lambda: render_smoke(backgrounds, keys),
            "lookalikes": lambda: render_lookalikes(backgrounds, keys),
        },
        rounds=10 if on_gpu else 5,
        warm_up=1,
    )
    table(
        f"Rendering, batches of {batch} at 480 x 480",
        ("", "pictures a second"),
        [(name, f"{batch / s:,.1f}") for name, s in seconds.items()],
    )


if __name__ == "__main__":
    main()
