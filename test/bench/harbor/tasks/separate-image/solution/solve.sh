#!/bin/bash
set -e
cut -d: -f1 /etc/passwd > /logs/artifacts/users.txt
