"""Configurations: those that come with smokescope are what they say, and mistakes are named."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.off import COLOUR_OFF
from tests.training.small import CONFIG

from smokescope.errors import SmokescopeError
from smokescope.losses.objective import ObjectiveSettings
from smokescope.models.settings import DEFAULT, PAPER, UNET
from smokescope.settings.plain import from_plain
from smokescope.training.settings import TrainingSettings, read_settings, shipped_configurations
from smokescope.training.yaml import to_yaml

NAMES = {
    "ablation-1-base", "ablation-2-transmission", "ablation-3-entropy", "ablation-4-calibrated",
    "default", "paper", "scribble", "unet",
}  # fmt: skip


def test_the_shipped_configurations() -> None:
    assert set(shipped_configurations()) == NAMES
    for name in NAMES:
        assert isinstance(read_settings(name), TrainingSettings)


def test_paper_is_the_paper() -> None:
    s = read_settings("paper")
    assert s.model == PAPER
    assert s.objective == ObjectiveSettings()
    assert (s.objective.kl, s.objective.transmission, s.objective.calibrated_entropy) == (1.0, 0.3, 0.01)
    assert (s.optimiser.learning_rate, s.optimiser.uncertainty_learning_rate) == (2.5e-5, 1.5e-5)
    assert (s.optimiser.schedule, s.optimiser.step_epoch, s.optimiser.step_factor) == ("step", 40, 0.8)
    assert (s.epochs, s.batch, s.size, s.samples, s.ema) == (50, 6, (480, 480), 8, 0.0)
    assert s.augment.colour == COLOUR_OFF
    assert [(source.kind, source.folder) for source in s.data] == [("pairs", "smoke5k/train")]


def test_the_ablation_differs_in_nothing_but_its_losses() -> None:
    rows = [read_settings(name) for name in sorted(NAMES) if name.startswith("ablation")]
    weights = [(s.objective.transmission, s.objective.entropy, s.objective.calibrated_entropy) for s in rows]
    assert weights == [(0, 0, 0), (0.3, 0, 0), (0.3, 0.01, 0), (0.3, 0, 0.01)]
    assert rows[3] == read_settings("paper")
    plain = [asdict(s) for s in rows]
    for settings in plain:
        assert isinstance(settings, dict)
        del settings["objective"]
    assert plain[0] == plain[1] == plain[2] == plain[3]


def test_default_and_its_peer() -> None:
    assert read_settings("default").model == DEFAULT
    assert read_settings("unet").model == UNET
    scribble = read_settings("scribble")
    assert {source.kind for source in scribble.data} == {"scribbles"}
    assert scribble.objective.transmission > 0


def test_the_peer_of_the_same_data_has_the_same_data() -> None:
    peer = read_settings(str(Path(__file__).parents[2] / "benchmarks/peer.yaml"))
    assert peer == replace(read_settings("unet"), data=read_settings("default").data, epochs=14)


def test_the_run_for_other_cameras_sees_what_default_sees_and_more() -> None:
    default = read_settings("default")
    cameras = read_settings(str(Path(__file__).parents[2] / "benchmarks/cameras.yaml"))
    assert cameras.data[:-1] == default.data
    assert cameras == replace(default, data=cameras.data, augment=cameras.augment)


def test_the_run_for_other_places_differs_from_default_in_its_pictures_alone() -> None:
    default = read_settings("default")
    elsewhere = read_settings(str(Path(__file__).parents[2] / "benchmarks/elsewhere.yaml"))
    assert {source.folder for source in elsewhere.data} - {source.folder for source in default.data} == {
        "outdoor/learning"
    }
    assert elsewhere == replace(default, data=elsewhere.data)


def test_settings_survive_their_file(tmp_path: Path) -> None:
    for name in NAMES:
        settings = read_settings(name)
        (tmp_path / "again.yaml").write_bytes(to_yaml(settings))
        assert read_settings(str(tmp_path / "again.yaml")) == settings


def test_overrides_and_bases(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: paper\noptimiser: {clip: 2}\n")
    settings = read_settings(str(tmp_path / "mine.yaml"), ["optimiser.learning_rate=1e-3", "size=[64, 96]"])
    assert settings.optimiser.clip == 2.0
    assert settings.optimiser.learning_rate == 1e-3  # which YAML alone takes for a text
    assert settings.optimiser.step_epoch == 40
    assert settings.size == (64, 96)


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("optimiser.momentum=1", "there is no setting optimiser.momentum: optimiser may hold learning_rate"),
        ("epochs=many", "epochs must be a whole number, not 'many'"),
        ("temperature=0", "temperature must be above 0"),
        ("epochs=-1", "epochs must be at least 0"),
        ("epochs=true", "epochs must be a whole number"),
        ("size=[1, 2, 3]", "size must have 2 values, not 3"),
        ("precision=fp8", "precision must be 32-true or bf16-mixed"),
        ("data=[]", "data must name at least one source"),
        ("data=[{kind: pairs}]", "data\\[0\\]: .*folder"),
        ("data=[{kind: scribbles, folder: a}]", r"strokes \(the folder of scribbles\) is needed"),
        ("data=[{kind: films, folder: a}]", "data\\[0\\].kind must be pairs or"),
        ("model.fusion=medium", "model.fusion must be fine or coarse"),
        ("epochs", "epochs is not NAME=VALUE"),
        ("epochs={", "is not YAML"),
        ("epochs.more=1", "epochs is not a group"),
        ("ema=1.5", "ema must be a decay below 1"),
        ("seed=-1", "seed must be at least 0"),
        ("data=[{kind: pairs, folder: a, weight: -1}]", "weight must be at least 0"),
        ("data=[{kind: pairs, folder: a, weight: .inf}]", "weight must be a number, not inf"),
        (
            "data=[{kind: pairs, folder: a}, {kind: rendered, folder: a, whole: true}]",
            "a has `whole: true` in one line only",
        ),
        ("offset=.nan", "offset must be a number, not nan"),
        ("seed=9223372036854775808", "seed must be at most 9223372036854775807"),
        ("samples=0", "samples must be at least 1"),
        ("validation_samples=-1", "validation_samples must be at least 0"),
        ("size=[64, 0]", "size must be at least 32"),
        ("optimiser.warmup=2", "optimiser: warmup must be at most 1"),
        ("optimiser.clip=-1", "optimiser: clip must be at least 0"),
        ("model.encoder_layers=[1, 1, 0, 1]", "model: encoder_layers must be at least 1"),
        ("model.dropout=1", "model: dropout must be at most 0.99"),
        ("objective.window=4", "objective: window must be odd"),
        ("objective.sigma_p=0", "objective: sigma_p must be above 0"),
        ("augment.geometry.flip=3", "augment.geometry: flip must be at most 1"),
        ("augment.geometry.scale=[2, 1]", "augment.geometry: scale must run from low to high"),
        ("augment.colour.jpeg_quality=[0, 50]", "augment.colour: jpeg_quality must be at least 1"),
        (
            "data=[{kind: pairs, folder: a}, {kind: scribbles, folder: b, strokes: c}]",
            "scribbles have their own loss",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, override: str, complaint: str) -> None:
    (tmp_path / "small.yaml").write_text(CONFIG)
    with pytest.raises(SmokescopeError, match=complaint):
        read_settings(str(tmp_path / "small.yaml"), [override])


def test_a_missing_configuration_is_told_with_those_there_are() -> None:
    with pytest.raises(SmokescopeError, match=r"there is no configuration papers: .*default, paper"):
        read_settings("papers")


def test_plain_values_of_the_wrong_kind() -> None:
    with pytest.raises(ValueError, match="settings must be names with values"):
        from_plain(TrainingSettings, [1, 2])


def test_a_file_may_extend_the_shipped_one_of_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "default.yaml").write_text("extends: default\nepochs: 3\n")
    assert read_settings(str(tmp_path / "default.yaml")).epochs == 3
    (tmp_path / "a.yaml").write_text("extends: b\n")
    (tmp_path / "b.yaml").write_text("extends: a\n")
    with pytest.raises(SmokescopeError, match=r"b.yaml extends .*a.yaml, which extends it"):
        read_settings(str(tmp_path / "a.yaml"))
    (tmp_path / "b.yaml").write_text("extends: nothing\n")
    with pytest.raises(SmokescopeError, match=r"b.yaml extends nothing, which does not exist"):
        read_settings(str(tmp_path / "a.yaml"))
    (tmp_path / "b.yaml").write_text("extends: [paper]\n")
    with pytest.raises(SmokescopeError, match=r"b.yaml extends \['paper'\]: it must be the name"):
        read_settings(str(tmp_path / "a.yaml"))


def test_a_wrong_value_names_its_file_unless_it_was_set(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("extends: default\nepochs: two\n")
    with pytest.raises(SmokescopeError, match=r"a.yaml: epochs must be a whole number, not 'two'"):
        read_settings(str(file))
    assert read_settings(str(file), ["epochs=2"]).epochs == 2
    file.write_text("extends: default\n")
    with pytest.raises(SmokescopeError, match=r"^epochs must be a whole number, not 'two'"):
        read_settings(str(file), ["epochs=two"])
    file.write_bytes("extends: default  # für".encode("latin-1"))
    with pytest.raises(SmokescopeError, match=r"a.yaml is not UTF-8"):
        read_settings(str(file))
    with pytest.raises(SmokescopeError, match="=3 is not NAME=VALUE"):
        read_settings("default", ["=3"])
