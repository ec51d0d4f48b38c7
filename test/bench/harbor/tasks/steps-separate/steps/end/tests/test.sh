#!/bin/bash
if [ "$(cat /app/notes.txt)" = "$(printf 'begun\nended')" ] && cmp -s /app/notes.txt /app/more.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
