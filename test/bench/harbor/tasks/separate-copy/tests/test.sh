#!/bin/bash
if [ "$(cat /app/out.txt)" = 60 ] && [ -e /app/numbers.txt ] && [ ! -e /app/left ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
