"""From a picture to a prediction: the one door that everything above goes through."""

from smokescope.inference.devices import choose_device, devices
from smokescope.inference.prediction import Prediction
from smokescope.inference.regions import Region, find_regions
from smokescope.inference.segmenter import Picture, Segmenter

__all__ = [
    "Picture",
    "Prediction",
    "Region",
    "Segmenter",
    "choose_device",
    "devices",
    "find_regions",
]
