#!/usr/bin/env bash
#SBATCH --job-name=ajet-torch
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
# Starts the worker of a run that waits with torch.launch=attach. AJET_CONNECT and AJET_TOKEN come from the line that the
# run prints. AJET_PACKAGE is the folder that has ajet_torch, and AJET_PYTHON is its interpreter.
set -euo pipefail
: "${AJET_CONNECT:?from the line that the run prints}" "${AJET_TOKEN:?from the line that the run prints}" "${AJET_PACKAGE:?folder of ajet_torch}"
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export PYTHONPATH=$AJET_PACKAGE PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
srun --kill-on-bad-exit=1 "${AJET_PYTHON:-python3}" -m torch.distributed.run \
  --nnodes="$SLURM_NNODES" --nproc-per-node="${SLURM_GPUS_ON_NODE:-8}" \
  --rdzv-backend=c10d --rdzv-endpoint="$head:29500" --rdzv-id="$SLURM_JOB_ID" --max-restarts=0 \
  -m ajet_torch.worker
