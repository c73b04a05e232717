"""Learning by gradient steps: the loop, the batches, the pseudo-likelihood and its pair term."""
