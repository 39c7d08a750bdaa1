"""Monte Carlo as a graph: all that is drawn comes in from outside, and the maps of the samples go out.

A graph has no keys to draw by, and engines' own random numbers differ. So noise of the latent variable and
masks of dropout are inputs; `smokescope.inference.engines.draws` makes both from PyTorch's keys.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict

import torch
from torch import Tensor, nn

from smokescope.chance import make_keys
from smokescope.errors import SmokescopeError
from smokescope.export.onnx import EXAMPLE, describe, trace
from smokescope.inference.engines.card import INPUT
from smokescope.inference.engines.draws import KEPT, NOISE, SampleSettings, draw
from smokescope.models.bvm import SmokeBVM
from smokescope.models.pipeline import Pipeline, enlarge_samples
from smokescope.uncertainty import Decomposition, decompose

COUNT = 3  # of samples to trace with: not that of the pictures


class Samples(nn.Module):
    """`Pipeline.sample`, given what it draws.

    Args:
        pipeline: Pipeline of a network that has something to sample.

    Raises:
        SmokescopeError: The network has nothing to draw samples from.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__()
        if not isinstance(pipeline.network, SmokeBVM):
            architecture = pipeline.network.settings.architecture
            raise SmokescopeError(f"a {architecture} model cannot draw samples: leave --monte-carlo out")
        self.pipeline = pipeline

    @property
    def network(self) -> SmokeBVM:
        """The pipeline's."""
        assert isinstance(self.pipeline.network, SmokeBVM)  # noqa: S101
        return self.pipeline.network

    def forward(
        self, pictures: Tensor, noise: Tensor, kept_1: Tensor, kept_2: Tensor, kept_3: Tensor, kept_4: Tensor
    ) -> Decomposition:
        """Predict from B samples of each of N pictures; maps [N, 1, H, W].

        Args:
            pictures: RGB [N, 3, H, W], uint8.
            noise: Standard normal, [B, N, latent].
            kept_1: What dropout keeps of s_1, bool [B, N, C, h, w] or, of channels, [B, N, C, 1, 1].
            kept_2: The same of s_2.
            kept_3: The same of s_3.
            kept_4: The same of s_4.
        """
        encoding = self.network.encode(self.pipeline.prepare(pictures))
        z = encoding.posterior.sample(noise).flatten(0, 1)
        kept = [each.flatten(0, 1) for each in (kept_1, kept_2, kept_3, kept_4)]
        logits = self.network.decode_kept(encoding, z, kept) / self.pipeline.temperature
        return enlarge_samples(decompose(logits.reshape(*noise.shape[:2], *logits.shape[1:])), pictures)

    @property
    def settings(self) -> SampleSettings:
        """What there is to draw."""
        s = self.network.settings
        return SampleSettings(latent=s.latent, width=s.decoder_width, dropout=s.dropout, unit=s.dropout_unit)


def samples_to_onnx(pipeline: Pipeline, notes: Mapping[str, str]) -> bytes:
    """Turn a pipeline, on the CPU, into the bytes of an ONNX file that samples; as `to_onnx`.

    Raises:
        SmokescopeError: The network has nothing to sample, or what exporting needs is not installed.
    """
    module = Samples(pipeline)
    number, _, *size = EXAMPLE
    keys = make_keys(0, torch.arange(number))
    draws = draw(module.settings, pipeline.input, keys, COUNT, *size)
    inputs = {name: torch.from_numpy(values) for name, values in draws.items()}
    sized = pipeline.input.fit == "aspect" and module.settings.unit == "element"
    free = {INPUT: (0, 2, 3), NOISE: (0, 1), **dict.fromkeys(KEPT, (0, 1, 3, 4) if sized else (0, 1))}
    metadata = {**describe(pipeline, notes), "samples": json.dumps(asdict(module.settings))}
    return trace(module, {INPUT: torch.zeros(EXAMPLE, dtype=torch.uint8), **inputs}, free, metadata)
