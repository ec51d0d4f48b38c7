# Unpacks flash-attn-4 and what it needs from a folder of wheels given as $1 into /tmp/site. Then:
# export PYTHONPATH=/tmp/site:/tmp/site/nvidia_cutlass_dsl/dsl_packages   (its .pth file does that only in a real site folder)
set -e
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site $1/*.whl
cat $1/part00 $1/part01 2>/dev/null | tar -xJf - -C /tmp/site
