"""One tester gives every network the same tests; a network's own test class says how to build and feed it."""

from abc import ABC, abstractmethod
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from smokescope.models.attention import ChannelAttention
from smokescope.models.uncertainty_net import UncertaintyNet

SIZES = [(64, 64), (63, 65), (33, 97), (7, 5), (1, 1)]


class ModelTester(ABC):
    """Same behaviour expected of all networks. Subclasses are collected by pytest, this one is not."""

    sizes = SIZES

    @abstractmethod
    def build(self) -> nn.Module:
        """A small network with freshly drawn weights."""

    @abstractmethod
    def inputs(self, batch: int, height: int, width: int) -> tuple[object, ...]:
        """Arguments of a call, for pictures of that size."""

    @abstractmethod
    def check_shapes(self, outputs: list[Tensor], batch: int, height: int, width: int) -> None:
        """Assert on the shapes of a call's flattened outputs."""

    @pytest.fixture
    def model(self) -> nn.Module:
        torch.manual_seed(0)
        return self.build()

    def call(self, model: nn.Module, batch: int = 2, height: int = 64, width: int = 64) -> list[Tensor]:
        torch.manual_seed(1)
        return tensors(model(*self.inputs(batch, height, width)))

    def test_forward_and_backward_reach_every_parameter(self, model: nn.Module) -> None:
        open_paths(model.train())
        outputs = self.call(model)
        self.check_shapes(outputs, 2, 64, 64)
        sum((x.square().sum() for x in outputs), start=torch.zeros(())).backward()
        assert not unreached(model)

    def test_every_size_works(self, model: nn.Module) -> None:
        model.eval()
        for height, width in self.sizes:
            outputs = self.call(model, 1, height, width)
            self.check_shapes(outputs, 1, height, width)
            assert all(x.isfinite().all() for x in outputs)

    def test_a_batch_of_one_trains(self, model: nn.Module) -> None:
        """From 64 pixels a side: a deepest map of one pixel would leave batch norm nothing to average."""
        model.train()
        outputs = self.call(model, batch=1)
        sum((x.sum() for x in outputs), start=torch.zeros(())).backward()
        assert all(x.isfinite().all() for x in outputs)

    def test_a_picture_does_not_depend_on_its_batch(self, model: nn.Module) -> None:
        model.eval()
        together = self.inputs(3, 40, 48)
        alone = pytree.tree_map_only(Tensor, lambda x: x[1:2], together)
        for one, many in zip(tensors(model(*alone)), tensors(model(*together)), strict=True):
            torch.testing.assert_close(one, many[1:2], atol=1e-5, rtol=1e-4)

    def test_saved_and_loaded_it_answers_the_same(self, model: nn.Module, tmp_path: Path) -> None:
        model.train()
        self.call(model)  # moves the batch norms' statistics away from their start
        model.eval()
        save_file(model.state_dict(), tmp_path / "model.safetensors")
        torch.manual_seed(99)
        other = self.build().eval()
        other.load_state_dict(load_file(tmp_path / "model.safetensors"))
        for before, after in zip(self.call(model), self.call(other), strict=True):
            torch.testing.assert_close(before, after, atol=0, rtol=0)

    def test_eval_is_deterministic(self, model: nn.Module) -> None:
        model.eval()
        arguments = self.inputs(2, 64, 64)
        for first, second in zip(tensors(model(*arguments)), tensors(model(*arguments)), strict=True):
            assert torch.equal(first, second)

    def test_compiles_in_one_graph(self, model: nn.Module) -> None:
        model.eval()
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        arguments = self.inputs(2, 64, 96)
        for ours, theirs in zip(tensors(compiled(*arguments)), tensors(model(*arguments)), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)

    def test_exports_with_any_batch_and_size(self, model: nn.Module) -> None:
        model.eval()
        auto = torch.export.Dim.AUTO
        arguments = self.inputs(2, 64, 96)
        dynamic = pytree.tree_map_only(
            Tensor, lambda x: {i: auto for i in (0, 2, 3) if i < x.dim()}, arguments
        )
        dynamic = pytree.tree_map_only(int | bool, lambda _: None, dynamic)
        exported = torch.export.export(model, arguments, dynamic_shapes=dynamic).module()
        for size in ((3, 96, 128), (1, 63, 65)):  # down to 9 pixels a side; eager has no such bound
            others = self.inputs(*size)
            for ours, theirs in zip(tensors(exported(*others)), tensors(model(*others)), strict=True):
                torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)

    def test_runs_in_bf16_autocast(self, model: nn.Module) -> None:
        model.eval()
        exact = self.call(model)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rounded = self.call(model)
        for a, b in zip(exact, rounded, strict=True):
            assert b.isfinite().all()
            assert (a - b.float()).abs().mean() <= 0.05 * a.abs().mean() + 1e-3


def open_paths(model: nn.Module) -> None:
    """Change what, freshly drawn, may let no gradient pass: gates all of whose few ReLUs are 0, and zeros."""
    for module in model.modules():
        if isinstance(module, ChannelAttention):
            nn.init.ones_(module.get_parameter("gate.1.bias"))
        elif isinstance(module, UncertaintyNet):
            nn.init.normal_(module.total.head.weight, std=0.1)


def unreached(model: nn.Module) -> list[str]:
    """Names of the parameters that a backward pass left without a gradient, or with none but zeros."""
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return [n for n, g in gradients.items() if g is None or not g.isfinite().all() or not g.any()]


def tensors(outputs: object) -> list[Tensor]:
    """Flatten whatever a network returns."""
    leaves = pytree.tree_leaves(outputs)
    return [leaf for leaf in leaves if isinstance(leaf, Tensor)]
