import { quoteForShell } from '@agentjet/core';
import { torchHome } from '../python-worker/find-python.js';

export type AttachCommandParts = {
  /** The control plane's address, as host:port. */
  readonly address: string;
  /** The token that the command contains. */
  readonly token: string;
  readonly numNodes: number;
  readonly gpusPerNode: number;
  /** The worker's folder on every node. */
  readonly dir?: string;
};

/**
 * Returns the line that starts the worker's processes on a node; it is the same on every node. HEAD is a placeholder
 * for a node that all other nodes can reach. Slurm, JobSet, Ray and SkyPilot provide the name of such a node.
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
