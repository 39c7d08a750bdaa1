"""What travels with a model as plain values; free of torch, since exported models run without it."""
