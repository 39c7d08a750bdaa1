"""What pictures are: reading them, writing results whole, finding them in folders."""
