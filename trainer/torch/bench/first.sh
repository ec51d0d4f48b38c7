set -x
cd trainer/torch/bench; export PYTHONPATH=.. PYTHONUNBUFFERED=1
python3 -c "import torch;print(torch.__version__, torch.backends.cudnn.version(), torch.cuda.get_device_name())"
time timeout 150 python3 attention.py --out $OUT/attention.json 2>&1 | grep -v -i warn
time timeout 160 python3 step.py 1.5B:8192:1 1.5B:8192:8 1.5B:8192:1:sharded=true --plain --out $OUT/step.json 2>&1 | tail -25
time timeout 100 python3 profile_step.py 1.5B:8192:1 2>&1 | tail -32
time timeout 120 python3 exactness.py --out $OUT/exactness.json 2>&1 | tail -12
