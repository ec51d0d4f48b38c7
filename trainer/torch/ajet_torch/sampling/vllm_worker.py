"""What runs inside vLLM's own worker processes (`--worker-extension-cls`)."""

from __future__ import annotations

from typing import Any

from .server import weight_sum


class WeightReader:
    """Mixed into vLLM's worker; its names must not be the worker's own."""

    get_model: Any

    def ajet_weight_sum(self) -> str:
        """The sum of the bit patterns of all weights that this worker holds. Joined, padded (with zeros) or split, they sum to the same."""
        return str(weight_sum(self.get_model().named_parameters()))
