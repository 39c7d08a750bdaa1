"""See smoke, and how sure to be: wildfire-smoke segmentation with calibrated, decomposed uncertainty."""

__version__ = "0.1.0.dev0"
