#!/bin/bash
# Makes the artifact /app a link to the root of the machine, and the other artifact a link to the tests.
mv /app /app.old
ln -s / /app
ln -s /tests/secret.txt /answer.txt
rm -rf /logs/artifacts
ln -s /tests /logs/artifacts
