"""Prints tasks of one family of reasoning-gym, one JSON object a line: families.py <family> <size> <settings>."""

import json
import sys

import reasoning_gym

family, size, settings = sys.argv[1:]
for task in reasoning_gym.create_dataset(family, size=int(size), seed=1, **json.loads(settings)):
    print(json.dumps(task, default=str))
