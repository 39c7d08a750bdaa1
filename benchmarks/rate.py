"""Pictures a second on a GPU: all maps in one pass, against the encoder alone, both compiled in bfloat16.

    python -m benchmarks.rate [--batch 1 --batch 32] [--size 480 480]

Pictures lie on the device as the network sees them. Compiling takes minutes: `make bench` leaves this out.
"""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.timing import compare, table
from smokescope.models import DEFAULT, SmokeBVM

REPEATS = 10  # passes in a row between two looks at the clock


def compiled(network: Callable[[Tensor], object]) -> Callable[[Tensor], object]:
    """A network for one shape, its kernels launched as one."""
    run = torch.compile(network, dynamic=False, mode="reduce-overhead")

    def repeat(pictures: Tensor) -> None:
        for _ in range(REPEATS):
            run(pictures)

    return repeat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batch", type=int, action="append")
    parser.add_argument("--size", type=int, nargs=2, default=(480, 480))
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = SmokeBVM(DEFAULT).to(device).eval()
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    rows = []
    for batch in given.batch or (1, 32):
        pictures = torch.rand(batch, 3, *given.size, device=device).contiguous(
            memory_format=torch.channels_last
        )
        encoder, whole = compiled(model.encoder), compiled(model)
        with torch.no_grad(), torch.autocast(device, torch.bfloat16):
            seconds = compare(
                {"encoder": lambda: encoder(pictures), "all maps": lambda: whole(pictures)},  # noqa: B023
                rounds=given.rounds,
            )
        rate = {name: REPEATS * batch / each for name, each in seconds.items()}
        share = rate["all maps"] / rate["encoder"]
        rows.append((str(batch), *(f"{rate[name]:,.0f}/s" for name in rate), f"{share:.2f}"))
    height, width = given.size
    table(
        f"One pass at {height} x {width}, compiled, bf16, {device}",
        ("batch", "bare encoder", "all maps", "share of the encoder's rate"),
        rows,
    )


if __name__ == "__main__":
    main()
