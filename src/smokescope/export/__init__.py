"""Models for other engines: ONNX and OpenVINO files, with all that belongs to a model inside the graph."""
