#!/bin/bash
set -e
echo "$COLOR$SUFFIX" > /app/color.txt
