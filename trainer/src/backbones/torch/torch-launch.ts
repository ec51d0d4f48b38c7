import path from 'node:path';

import { snakeKeys } from '@agentjet/core';

import type { WorkerLaunch } from '../python-worker/worker-process.js';
import { toWorkerConfig, type TorchBackboneOptions } from './options.js';
import { torchHome } from '../python-worker/find-python.js';

/**
 * Starts one process, or one per GPU under torchrun. The processes find each other through a file, so they need no
 * port. A single process finds its configuration in the environment, too, so that it can begin to compile before it
 * connects.
 */
export function toTorchLaunch(python: string, options: TorchBackboneOptions): WorkerLaunch {
  const { numGpus = 1, cpuOffload, env } = options;
  const config = numGpus === 1 ? { AJET_CONFIG: JSON.stringify(snakeKeys(toWorkerConfig(options))) } : {};
  return {
    command: python,
    cwd: torchHome.dir,
    env: { ...config, ...workerEnvironment(env) },
    inScratchDir: (dir) => ({
      args: launchArguments(numGpus, dir),
      env: { AJET_STORE: path.join(dir, 'store'), AJET_FSDP: cpuOffload === true ? '1' : '0' },
    }),
  };
}

function launchArguments(numGpus: number, storeDir: string): readonly string[] {
  if (numGpus === 1) return ['-u', '-m', 'ajet_torch.worker'];
  const meeting = [
    '--rdzv-backend=c10d',
    `--rdzv-endpoint=${path.join(storeDir, 'rendezvous')}`,
    '--rdzv-conf=store_type=file',
    '--max-restarts=0',
  ];
  return ['-u', '-m', 'torch.distributed.run', `--nproc-per-node=${numGpus}`, ...meeting, '-m', 'ajet_torch.worker'];
}

function workerEnvironment(given: TorchBackboneOptions['env']): Readonly<Record<string, string>> {
  return {
    GLOO_SOCKET_IFNAME: process.env['GLOO_SOCKET_IFNAME'] ?? (process.platform === 'linux' ? 'lo' : ''),
    PYTHONUNBUFFERED: '1',
    HF_HUB_OFFLINE: '1',
    TOKENIZERS_PARALLELISM: 'false',
    PYTORCH_CUDA_ALLOC_CONF: process.env['PYTORCH_CUDA_ALLOC_CONF'] ?? 'expandable_segments:True',
    ...given,
  };
}
