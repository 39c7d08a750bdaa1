"""Weights on disk: safetensors files that say what they are."""
