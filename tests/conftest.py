"""What all tests share."""

import torch

torch.set_num_threads(1)  # tests run side by side; threads of one would only wait for those of another
