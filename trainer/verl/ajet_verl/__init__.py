"""A driver of verl's worker groups on Ray. It exchanges the messages of `ajet_torch.protocol` with the control plane.

verl has the weights, the gradient and the optimizer. Losses, checkpoints and the sampler are those of `ajet_torch`.
Tensor names carry their shape as there: K loss terms, T tokens of a row.
"""
