#!/bin/bash
set -e
cp /bin/sleep /usr/local/bin/watcher
nohup /usr/local/bin/watcher 600 > /dev/null 2>&1 &
