"""What computes: PyTorch, onnxruntime or OpenVINO, each behind the same small class."""
