# Unpacks flash-attn-4 and what it needs from a folder of wheels given as $1 into /tmp/site.
set -e
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site $1/*.whl
cat $1/part00 $1/part01 2>/dev/null | tar -xJf - -C /tmp/site
