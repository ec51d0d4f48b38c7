#!/bin/bash
if [ "$(cat /app/status.txt)" = "403 lo" ] && [ -z "$http_proxy" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
