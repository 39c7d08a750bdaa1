"""The training engine: data mix, steps, checkpoints and the loop, on Lightning Fabric."""
