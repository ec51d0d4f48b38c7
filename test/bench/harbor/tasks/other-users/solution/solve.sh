#!/bin/bash
set -e
id -un > who.txt
