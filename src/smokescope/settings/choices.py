"""What people choose from, each spelled once: in Python by its name, on the command line by an option."""

from typing import Literal

Format = Literal["onnx", "openvino"]
"""What models are exported to."""

EngineName = Literal["auto", "torch", Format]
"""What computes; auto: the fastest that is here."""

Tiles = Literal["auto", "never", "always"]
"""Cut a picture into tiles: if it is large, never, or whenever it is larger than one tile."""

Stride = Literal["v1", "v1.5"]
"""Where a stage of ResNet-50 strides: in its first convolution, or in its second."""
