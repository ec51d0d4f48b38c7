import path from 'node:path';

import type { WorkerLaunch } from '../python-worker/worker-process.js';
import type { TorchBackboneOptions } from './options.js';
import { torchHome } from '../python-worker/find-python.js';

/**
 * Starts one process, or one per GPU under torchrun. The processes find each other through a file, so they need no
 * port.
 */
export function toTorchLaunch(python: string, { numGpus = 1, cpuOffload, env }: TorchBackboneOptions): WorkerLaunch {
  return {
    command: python,
    cwd: torchHome.dir,
    env: workerEnvironment(env),
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
