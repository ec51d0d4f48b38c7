"""By the names of vLLM's."""

from dataclasses import dataclass


@dataclass(kw_only=True)
class IPCTrainerInitInfo:
    rank: int
    packed: bool = False
