#!/bin/bash
sort -r /app/words.txt > /app/sorted.txt
