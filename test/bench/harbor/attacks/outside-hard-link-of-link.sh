#!/bin/bash
# Makes the answer a second name of a link deep in the artifact: from there the link stays inside, from the second name it leads to the tests.
cd /app
rm -f answer.txt
mkdir -p a0/e z0/e tests
echo no > tests/secret.txt
ln -s ../../tests/secret.txt a0/e/s
ln -P a0/e/s answer.txt
ln -P a0/e/s z0/e/s
