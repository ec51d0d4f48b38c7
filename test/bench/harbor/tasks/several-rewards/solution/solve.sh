#!/bin/bash
set -e
printf 'def double(x):\n    """Return two times x."""\n    return 2 * x\n' > /app/double.py
