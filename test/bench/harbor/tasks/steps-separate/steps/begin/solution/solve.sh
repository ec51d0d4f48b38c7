#!/bin/bash
echo begun > /app/notes.txt
