#!/bin/bash
# Leaves links to the secret that pass through /proc (root, cwd, fd) and through chains of links that each look harmless.
cd /app
ln -s . d1
ln -s d1/d1 d2
mkdir -p a/b/c
ln -s a/b/c deep
ln -s deep/../../.. up
ln -s d2/d1/up/../tests/secret.txt answer.txt
ln -s /proc/self/root/tests/secret.txt p1
ln -s /proc/1/cwd/../tests/secret.txt p2
mkdir -p /logs/artifacts
ln -s /app/p1 /logs/artifacts/x
