"""Writes a tiny random model folder: `python make_tiny.py DIR [family] [seed]`. Used by the tests on the other side of the wire."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from tiny import tiny_folder  # noqa: E402

tiny_folder(Path(sys.argv[1]), *(sys.argv[2:3] or ["qwen2"]), *(map(int, sys.argv[3:4])))
