/** Runs PyTorch in a separate process, if a Python with PyTorch is installed. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

const here = import.meta.dirname;
const torchVenv = path.join(here, '../../../trainer/torch/.venv');

export type TorchCommand = { readonly op: string; readonly [key: string]: unknown };

/** Wall seconds, and seconds of processor time over all threads. */
export type Cost = { readonly wall: number; readonly cpu: number };

export type TorchProcess = {
  readonly version: string;
  /** The time of the command in that process. */
  measure(command: TorchCommand): Promise<Cost>;
  close(): Promise<void>;
};

/**
 * Returns null if no Python with PyTorch is found. It tries AJET_TORCH_PYTHON, the torch backbone's virtual environment
 * and python3.
 */
export async function startTorch(threads: number): Promise<TorchProcess | null> {
  const python = pythonCandidates().find(hasTorch);
  if (python === undefined) return null;
  const child = spawn(python, [path.join(here, 'torch_engine.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, OMP_NUM_THREADS: String(threads) },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (command: TorchCommand): Promise<{ readonly [key: string]: unknown }> => {
    child.stdin.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`PyTorch ended during ${JSON.stringify(command)}.`);
    return JSON.parse(value) as { readonly [key: string]: unknown };
  };
  const { torch } = await ask({ op: 'hello', threads });
  return {
    version: String(torch),
    measure: async (command) => {
      const { seconds, cpu_seconds: cpu } = await ask(command);
      return { wall: Number(seconds), cpu: Number(cpu) };
    },
    close: async () => {
      const exit = once(child, 'exit');
      child.stdin.end();
      await exit;
    },
  };
}

function pythonCandidates(): string[] {
  const named = process.env['AJET_TORCH_PYTHON'];
  const inVenv = [path.join(torchVenv, 'bin/python'), path.join(torchVenv, 'Scripts/python.exe')].filter((file) =>
    existsSync(file),
  );
  return [...(named === undefined ? [] : [named]), ...inVenv, 'python3', 'python'];
}

function hasTorch(python: string): boolean {
  return spawnSync(python, ['-c', 'import torch'], { stdio: 'ignore' }).status === 0;
}
