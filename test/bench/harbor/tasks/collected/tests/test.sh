#!/bin/bash
if grep -qx watcher /var/report/processes.txt && ! pgrep watcher; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
