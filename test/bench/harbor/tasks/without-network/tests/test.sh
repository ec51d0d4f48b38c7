#!/bin/bash
if [ "$(cat /app/devices.txt)" = lo ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
