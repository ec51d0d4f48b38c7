#!/bin/bash
set -e
cp /run/ready /app/ready
