"""The default model: one pass with all maps, against Monte Carlo sampling and the encoder alone."""

import torch

from benchmarks.timing import compare, table
from smokescope.models import DEFAULT, SmokeBVM


def main() -> None:
    torch.manual_seed(0)
    on_gpu = torch.cuda.is_available()
    device, batch = ("cuda", 6) if on_gpu else ("cpu", 1)
    model = SmokeBVM(DEFAULT).to(device).eval()
    pictures = torch.rand(batch, 3, 480, 480, device=device)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=on_gpu):
        seconds = compare(
            {
                "encoder alone": lambda: model.encoder(pictures),
                "one pass, all maps": lambda: model(pictures),
                "8 Monte Carlo samples": lambda: model.sample(pictures, 8),
                "50 Monte Carlo samples": lambda: model.sample(pictures, 50),
            },
            rounds=10 if on_gpu else 3,
            warm_up=1,
        )
    table(
        f"Default model, untrained, batch of {batch} at 480 x 480, eager, {'bf16' if on_gpu else 'float32'}",
        ("", "ms", "times the encoder"),
        [(n, f"{1e3 * s:.1f}", f"{s / seconds['encoder alone']:.2f}") for n, s in seconds.items()],
    )


if __name__ == "__main__":
    main()
