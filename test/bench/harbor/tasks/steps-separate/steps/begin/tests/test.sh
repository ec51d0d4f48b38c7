#!/bin/bash
# The verdict of this step does not count, because the last one is the verdict of the task.
echo 0.25 > /logs/verifier/reward.txt
