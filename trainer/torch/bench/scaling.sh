# Measures the step on 1, 2 and 4 GPUs of one machine: bash scaling.sh OUT_DIR DATE NUM_GPUS...
cd "$(dirname "$0")" || exit
OUT_DIR=$1; DATE=$2; shift 2
export PYTHONPATH=..:$PYTHONPATH PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
for N in "$@"; do
  export AJET_STORE=$(mktemp -u)
  timeout 100 python3 -m torch.distributed.run --nproc-per-node=$N --rdzv-backend=c10d --rdzv-endpoint=$(mktemp -u) --rdzv-conf=store_type=file \
    step.py 1.5B:8192:1 1.5B:8192:4 7B:8192:1 --repeats 3 --date $DATE --out $OUT_DIR/step_$N.json 2>&1 | grep -E '^{|Error|error' | cut -c1-420
done
