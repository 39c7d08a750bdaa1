"""A run's state on disk: all that the next step depends on, in one safetensors file that appears whole.

Nothing else is needed to go on exactly: rates, orders and chance are functions of the step. The last two
states are kept; where the newest is damaged (a dying disk), the one before it still serves.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from smokescope.checkpoints.files import read_tensors, write_tensors
from smokescope.errors import SmokescopeError
from smokescope.training.ema import Average

FORMAT = "smokescope training state"
KEPT = 2


@dataclass(frozen=True)
class State:
    """What stood after some steps."""

    step: int
    tensors: Mapping[str, Tensor]
    about: Mapping[str, str]
    """What else must be the same for the run to go on."""

    def restore_model(self, model: nn.Module, average: Average | None) -> None:
        """Put weights back, and their average.

        Raises:
            SmokescopeError: They are another run's.
        """
        with self._fitting():
            model.load_state_dict(self._below("model"))
            if average is not None:
                average.load(self._below("average"))

    def restore_optimisers(self, optimisers: Sequence[Optimizer], model: nn.Module) -> None:
        """Put the optimisers' moments back.

        Raises:
            SmokescopeError: They are another run's.
        """
        with self._fitting():
            for number, optimiser in enumerate(optimisers):
                _restore(optimiser, self._below(f"optimiser.{number}"), _names(model))

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, RuntimeError, ValueError) as error:
            raise SmokescopeError(f"the state after step {self.step} belongs to another run") from error

    def _below(self, prefix: str) -> dict[str, Tensor]:
        start = prefix + "."
        return {name.removeprefix(start): t for name, t in self.tensors.items() if name.startswith(start)}


class States:
    """The states of a run, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(
        self,
        step: int,
        model: nn.Module,
        average: Average | None,
        optimisers: Sequence[Optimizer],
        about: Mapping[str, str],
    ) -> None:
        """Write the state after `step` steps, whole or not at all, then drop states that are too old.

        `about` is what `State.about` will say.

        Raises:
            SmokescopeError: It cannot be written; older states are kept.
        """
        names = _names(model)
        tensors = {f"model.{name}": t for name, t in model.state_dict().items()}
        if average is not None:
            tensors |= {f"average.{name}": t for name, t in average.tensors.items()}
        for number, optimiser in enumerate(optimisers):
            for parameter, values in optimiser.state.items():
                owner = f"optimiser.{number}.{names[parameter]}"
                tensors |= {f"{owner}.{field}": value for field, value in values.items()}
        metadata = {"format": FORMAT, "step": str(step), **about}
        write_tensors(self._path(step), tensors, metadata)
        for old in self.steps()[:-KEPT]:
            with suppress(OSError):
                self._path(old).unlink()

    def read(self) -> State | None:
        """Read the newest state that is whole; None if there is none at all.

        Raises:
            SmokescopeError: There are states, but none can be read.
        """
        problems = []
        for step in reversed(self.steps()):
            try:
                tensors, metadata = read_tensors(self._path(step))
                if metadata.get("format") == FORMAT:
                    return State(step, tensors, metadata)
                problems.append(SmokescopeError(f"{self._path(step)} is not a training state"))
            except SmokescopeError as error:
                problems.append(error)
        if problems:
            raise SmokescopeError("no state of this run can be read:", problems)
        return None

    def last(self) -> int | None:
        """The newest state's step, if there is a state."""
        return max(self.steps(), default=None)

    def steps(self) -> list[int]:
        """Steps of which there are states, in order."""
        return sorted(int(p.stem) for p in self.folder.glob("*.safetensors") if p.stem.isdecimal())

    def _path(self, step: int) -> Path:
        return self.folder / f"{step:08}.safetensors"


def _names(model: nn.Module) -> dict[Tensor, str]:
    return {parameter: name for name, parameter in model.named_parameters()}


def _restore(optimiser: Optimizer, tensors: Mapping[str, Tensor], names: Mapping[Tensor, str]) -> None:
    """Give an optimiser its moments back, each laid out in memory as its parameter is."""
    fields: dict[str, dict[str, Tensor]] = {}
    for path, tensor in tensors.items():
        name, field = path.rsplit(".", 1)
        fields.setdefault(name, {})[field] = tensor
    state: dict[int, dict[str, Tensor]] = {}
    for index, parameter in enumerate(p for group in optimiser.param_groups for p in group["params"]):
        state[index] = {
            field: torch.empty_like(parameter, requires_grad=False).copy_(tensor) if tensor.ndim else tensor
            for field, tensor in fields[names[parameter]].items()
        }
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
