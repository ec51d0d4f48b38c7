#!/bin/bash
set -e
tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' > /app/devices.txt
