#!/bin/bash
if [ "$(cat /app/color.txt)" = "$WANTED!" ] && [ "$SIZE" = 7 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
