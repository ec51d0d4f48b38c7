#!/bin/bash
# Makes the answer a link whose text begins with the path of the artifact and still leaves it.
mkdir -p /app/x
ln -sfn /app/x/../../tests/secret.txt /app/answer.txt
