"""The figures of the field, streaming and exact."""
