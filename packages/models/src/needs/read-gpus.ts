import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Gpus } from '@agentjet/core';

/**
 * Returns the GPUs that the driver lists, or null without a driver. If there are several kinds, the smallest memory is
 * used.
 */
export async function readGpus(): Promise<Gpus | null> {
  try {
    const query = ['--query-gpu=name,memory.total', '--format=csv,noheader,nounits'];
    const { stdout } = await promisify(execFile)('nvidia-smi', query, { timeout: 5000 });
    return parseGpus(stdout);
  } catch {
    return null; // most machines have none
  }
}

/** Parses lines such as `NVIDIA H200, 143771`. The size is in MiB. */
export function parseGpus(list: string): Gpus | null {
  const found = [...list.matchAll(/^(.+), *(\d+)\s*$/gm)].map(([, name = '', mebibytes]) => ({
    name,
    bytes: Number(mebibytes) * 2 ** 20,
  }));
  const [first] = found.toSorted((left, right) => left.bytes - right.bytes);
  return first === undefined ? null : { count: found.length, ...first };
}
