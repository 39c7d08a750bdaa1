"""What travels with a model as plain values and what people choose, free of torch, as exported models are."""
