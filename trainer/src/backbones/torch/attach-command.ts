import { quoteForShell } from '@agentjet/core';
import { torchHome } from './torch-home.js';

export type AttachCommandParts = {
  /** host:port of the control plane. */
  readonly address: string;
  /** What the command shows as the token. */
  readonly token: string;
  readonly numNodes: number;
  readonly gpusPerNode: number;
  /** The worker's folder on every node. */
  readonly dir?: string;
};

/**
 * The line that starts the worker's processes on a node, the same on every node. HEAD is a node that all reach; Slurm, JobSet, Ray
 * and SkyPilot know one.
 */
export function attachCommand(parts: AttachCommandParts): string {
  const { address, token, numNodes, gpusPerNode, dir = torchHome.dir } = parts;
  const environment = [
    `AJET_CONNECT=${address}`,
    `AJET_TOKEN=${token}`,
    `PYTHONPATH=${quoteForShell(dir, 'linux')}`,
    'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',
  ];
  const meeting =
    numNodes === 1
      ? ['--standalone']
      : [`--nnodes=${numNodes}`, '--rdzv-backend=c10d', '--rdzv-endpoint=HEAD:29500', '--rdzv-id=ajet'];
  const launcher = ['torchrun', ...meeting, `--nproc-per-node=${gpusPerNode}`, '--max-restarts=0'];
  return [...environment, ...launcher, '-m', 'ajet_torch.worker'].join(' ');
}
