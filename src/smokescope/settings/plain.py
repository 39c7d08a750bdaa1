"""Settings as data: they travel in a model file's metadata and in YAML."""

from dataclasses import asdict, dataclass, fields
from typing import Literal, Self, get_args, get_origin, get_type_hints


@dataclass(frozen=True, kw_only=True)
class PlainSettings:
    """What settings share: plain values there and back, and choices that are checked."""

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            if get_origin(kind) is Literal and getattr(self, name) not in get_args(kind):
                wanted = " or ".join(map(repr, get_args(kind)))
                raise ValueError(f"{name} must be {wanted}, not {getattr(self, name)!r}")

    def to_dict(self) -> dict[str, object]:
        """Plain values, fit for JSON and YAML."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> Self:
        """Inverse of `to_dict`; a name that is no setting is an error, since it would silently do nothing."""
        if not isinstance(values, dict):
            raise ValueError(f"settings are names and values, not a {type(values).__name__}")
        unknown = sorted(set(values) - {f.name for f in fields(cls)})
        if unknown:
            raise ValueError(f"unknown settings: {', '.join(unknown)}")
        plain = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**plain)  # a wrong type fails where the value is used
