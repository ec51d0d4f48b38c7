"""A driver of verl's worker groups on Ray, which speaks the messages of `ajet_torch.protocol`.

verl holds the weights, the gradient and the optimizer. Losses, checkpoints and the sampler are those of `ajet_torch`.
Tensor names carry their shape as there: K loss terms, T tokens of a row.
"""
