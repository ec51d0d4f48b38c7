#!/bin/bash
[ "$(pwd)" = /checks ] || exit 1
if grep -qx painter /logs/artifacts/users.txt && [ ! -e /etc/agent-machine ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
