"""The default model: one pass with all maps, against Monte Carlo sampling and a bare FCN."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.timing import compare, table
from smokescope.models import DEFAULT, ResNet, SmokeBVM


class FCN(nn.Module):
    """The least that segments: an encoder and one convolution at its coarsest stride."""

    def __init__(self, encoder: ResNet) -> None:
        super().__init__()
        self.encoder, self.head = encoder, nn.Conv2d(encoder.channels[-1], 1, 1)

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits [N, 1, H, W]."""
        return self.read(self.encoder(pictures), pictures)

    def read(self, features: Sequence[Tensor], pictures: Tensor) -> Tensor:
        """Logits of pictures whose features these are."""
        logits = self.head(features[-1])
        return functional.interpolate(logits, pictures.shape[-2:], mode="bilinear", align_corners=False)


def main() -> None:
    torch.manual_seed(0)
    on_gpu = torch.cuda.is_available()
    device, batch = ("cuda", 6) if on_gpu else ("cpu", 1)
    model, fcn = SmokeBVM(DEFAULT).to(device).eval(), FCN(ResNet()).to(device).eval()
    for network in (model, fcn):
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    pictures = torch.rand(batch, 3, 480, 480, device=device).contiguous(memory_format=torch.channels_last)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=on_gpu):
        seconds = compare(
            {
                "bare ResNet-50 FCN, stride 32": lambda: fcn(pictures),
                "one pass, all maps": lambda: model(pictures),
                "8 Monte Carlo samples": lambda: model.sample(pictures, 8),
                "50 Monte Carlo samples": lambda: model.sample(pictures, 50),
            },
            rounds=10 if on_gpu else 5,
            warm_up=1,
        )
    least = seconds["bare ResNet-50 FCN, stride 32"]
    table(
        f"Default model, untrained, batch of {batch} at 480 x 480, eager, {'bf16' if on_gpu else 'float32'}",
        ("", "ms", "times the FCN"),
        [(n, f"{1e3 * s:.1f}", f"{s / least:.2f}") for n, s in seconds.items()],
    )


if __name__ == "__main__":
    main()
