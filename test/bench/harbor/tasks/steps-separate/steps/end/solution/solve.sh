#!/bin/bash
echo ended >> /app/notes.txt
cp /app/notes.txt /app/more.txt
