"""Writes JSON Lines from standard input as Parquet: npx tsx problems.ts training | python write_parquet.py data/training.parquet

pip install pyarrow==26.0.1
"""

import sys

import pyarrow.json
import pyarrow.parquet

pyarrow.parquet.write_table(pyarrow.json.read_json(sys.stdin.buffer), sys.argv[1], compression="zstd")
