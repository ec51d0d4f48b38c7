import hashlib
import sys

given = open('/app/answer.txt').read().strip().encode()
sys.exit(0 if hashlib.sha256(given).hexdigest().startswith('7d1f0a') else 1)
