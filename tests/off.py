"""Settings with which augmentation changes nothing."""

from smokescope.data.augment import AugmentSettings
from smokescope.data.augment_colour import ColourSettings
from smokescope.data.augment_geometry import GeometrySettings

GEOMETRY_OFF = GeometrySettings(flip=0, scale=(1, 1), aspect=1, squash=True, keep_area=0)
COLOUR_OFF = ColourSettings(
    brightness=1, contrast=1, saturation=1, white_balance=1, hue=0, gamma=1, grey=0,
    haze=0, blur=0, noise=0, jpeg=0,
)  # fmt: skip
OFF = AugmentSettings(GEOMETRY_OFF, COLOUR_OFF)
