"""From a picture to a prediction: the one door that everything above goes through."""

from smokescope.inference.devices import choose_device, devices
from smokescope.inference.segmenter import Picture, Prediction, Segmenter, load

__all__ = ["Picture", "Prediction", "Segmenter", "choose_device", "devices", "load"]
