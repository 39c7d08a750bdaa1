"""Averages of weights and batch norm statistics: of a run, calmer than its last step, or of several runs."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn


class Average:
    """Averaged copy of a state, less batch norm's counters of batches: a model keeps its own.

    Args:
        model: Whose parameters and buffers to follow.
        decay: Decay of the average; early on less, so that it does not start from random weights: weights
            then count by the square of their step, those of the last third for more than two thirds.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        state = model.state_dict()
        self.tensors = {name: t.detach().clone() for name, t in state.items() if t.is_floating_point()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Take in the weights after a step, counted from 0."""
        decay = min(self.decay, (1 + step) / (4 + step))
        state = model.state_dict()
        theirs = [state[name] for name in self.tensors]
        torch._foreach_lerp_(list(self.tensors.values()), theirs, 1 - decay)

    def put_into(self, model: nn.Module) -> None:
        """Give a model the averaged weights."""
        model.load_state_dict(model.state_dict() | self.tensors)

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Go on from a saved average."""
        for name, tensor in self.tensors.items():
            tensor.copy_(tensors[name])


def mean_state(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of the states of models that began with the same weights; counters are the first one's."""
    first = states[0]
    return {
        name: torch.stack([state[name] for state in states]).mean(0) if t.is_floating_point() else t
        for name, t in first.items()
    }
