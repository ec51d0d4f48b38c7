# Python looks for modules next to the script first.
mkdir -p /tests
echo 'class R:
  def hexdigest(self): return "7d1f0a"
def sha256(given): return R()' > /tests/hashlib.py
mkdir -p /app; echo x > /app/answer.txt
(while true; do cp /tests/secret.txt /app/answer.txt; done) > /dev/null 2>&1 &
