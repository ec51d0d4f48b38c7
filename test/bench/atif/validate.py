"""Validates ATIF documents with Harbor's own validator. Usage: validate.py <folder of harbor's wheel> <folder of documents>

Prints one JSON line: {"valid": number, "errors": [...]}. Only the models and the validator of the wheel are loaded, because
harbor's own __init__ imports its whole program.
"""

import json
import pathlib
import sys
import types

wheel, documents = map(pathlib.Path, sys.argv[1:3])
for name in ("harbor", "harbor.utils", "harbor.models"):
    module = types.ModuleType(name)
    module.__path__ = [str(wheel / name.replace(".", "/"))]
    sys.modules[name] = module

from harbor.utils.trajectory_validator import TrajectoryValidator  # noqa: E402

valid, errors = 0, []
for file in sorted(documents.glob("*.json")):
    validator = TrajectoryValidator()
    if validator.validate(file):
        valid += 1
    else:
        errors.append(f"{file.name}: {validator.get_errors()[:3]}")
print(json.dumps({"valid": valid, "errors": errors}))
