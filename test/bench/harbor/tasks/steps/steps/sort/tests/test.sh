#!/bin/bash
if [ "$ORDER" = reverse ] && cmp -s /app/sorted.txt /tests/expected.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
