import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { LastLines } from './last-lines.js';
import { workerDir } from '../torch/find-python.js';

export type WorkerProcessOptions = {
  /** The interpreter. */
  readonly python: string;
  readonly numGpus: number;
  /** host:port the first process connects to. */
  readonly address: string;
  readonly token: string;
  /** Forces FSDP2 for one process. */
  readonly fsdp: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
};

export type WorkerProcess = {
  readonly pid: number;
  /** The last lines of its log. */
  lastLines(): string;
  /** Resolves when it has ended, with how. */
  readonly ended: Promise<string>;
  /** Ends it and everything it started. */
  kill(signal: NodeJS.Signals): void;
};

const numKeptLines = 40;

/** Starts one process, or one per GPU under torchrun; they meet through a file, so that no port is opened for that. */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const storeDir = await mkdtemp(path.join(os.tmpdir(), 'ajet-torch-'));
  const child = spawn(options.python, launchArguments(options.numGpus, storeDir), {
    cwd: workerDir,
    env: { ...process.env, ...workerEnvironment(options, storeDir), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  });
  return superviseChild(child, storeDir, options);
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

function workerEnvironment(options: WorkerProcessOptions, storeDir: string): Readonly<Record<string, string>> {
  return {
    AJET_CONNECT: options.address,
    AJET_TOKEN: options.token,
    AJET_STORE: path.join(storeDir, 'store'),
    AJET_FSDP: options.fsdp ? '1' : '0',
    GLOO_SOCKET_IFNAME: process.env['GLOO_SOCKET_IFNAME'] ?? (process.platform === 'linux' ? 'lo' : ''),
    PYTHONUNBUFFERED: '1',
    HF_HUB_OFFLINE: '1',
    TOKENIZERS_PARALLELISM: 'false',
    PYTORCH_CUDA_ALLOC_CONF: process.env['PYTORCH_CUDA_ALLOC_CONF'] ?? 'expandable_segments:True',
  };
}

function superviseChild(child: ChildProcess, storeDir: string, options: WorkerProcessOptions): WorkerProcess {
  const lines = new LastLines(numKeptLines);
  for (const stream of [child.stdout, child.stderr]) if (stream !== null) lines.follow(stream, options.onLine);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('close', (code, signal) =>
      resolve(signal === null ? `exited with code ${code}` : `was ended by ${signal}`),
    );
  }).then(async (how) => {
    await rm(storeDir, { recursive: true, force: true });
    return how;
  });
  return { pid: child.pid ?? -1, lastLines: () => lines.toString(), ended, kill: (signal) => killTree(child, signal) };
}

/** The whole process group: torchrun's children must not outlive it. */
function killTree(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (process.platform !== 'win32' && child.pid !== undefined) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
