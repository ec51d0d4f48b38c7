"""Checks that the packages have the versions for which this driver was written."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ajet_torch.errors import WorkerError

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements.txt"
CHECKED = ("verl", "ray", "torch", "transformers", "tensordict")


def read_pins() -> dict[str, str]:
    """Returns the versions of the packages that must match exactly, by name."""
    pins = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?==(\S+)$", REQUIREMENTS.read_text("utf-8"), re.MULTILINE))
    return {name: pins[name] for name in CHECKED}


def check_versions(pins: dict[str, str], where: str) -> None:
    """Raises `version_mismatch` with the versions found and wanted. It ignores the suffix of a build, as in
    2.11.0+cpu."""
    found = {name: installed(name) for name in pins}
    wrong = [f"{name} {found[name]} instead of {wanted}" for name, wanted in pins.items() if found[name] != wanted]
    if wrong:
        raise WorkerError(
            "version_mismatch",
            f"The Python environment {where} has {', '.join(wrong)}. The verl backbone uses methods of verl that change from release to release. "
            f"`npm run setup:verl` installs the right versions; on other nodes: pip install -r {REQUIREMENTS.name} of trainer/verl.",
        )


def installed(name: str) -> str:
    try:
        return version(name).split("+")[0]
    except PackageNotFoundError:
        return "missing"
