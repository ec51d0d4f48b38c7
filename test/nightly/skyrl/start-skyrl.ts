import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pythonOf } from '../../../.ci/python-environment.mjs';

/** The interpreter of this folder's environment, which `.ci/nightly skyrl` makes. */
export const skyrlPython = pythonOf(import.meta.dirname);

/**
 * On a CPU, most of the time is spent on compiling, so compiled programs are kept for the next run. They are removed
 * with the environment.
 */
const compileOnce = {
  JAX_COMPILATION_CACHE_DIR: path.join(import.meta.dirname, '.venv', 'compiled'),
  JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS: '0',
  JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES: '-1',
};

export type SkyrlServer = { readonly url: string; close(): Promise<void> };

/** JAX compiles a program for each shape, so a training pass has one row, and sampling has a fixed number of them. */
const backend = { train_micro_batch_size: 1, sample_max_num_sequences: 32, max_lora_adapters: 4, max_lora_rank: 32 };

/** Starts SkyRL on the CPU with that model. It keeps its files in `dir`. */
export async function startSkyrl(modelDir: string, dir: string): Promise<SkyrlServer> {
  const log = path.join(dir, 'skyrl.log');
  const config = {
    base_model: modelDir,
    backend: 'jax',
    backend_config: backend,
    checkpoints_base: path.join(dir, 'checkpoints'),
    database_url: `sqlite:///${path.join(dir, 'tinker.db')}`,
  };
  const server = spawn(skyrlPython, [path.join(import.meta.dirname, 'serve.py'), JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', openSync(log, 'w')],
    env: { ...process.env, ...compileOnce, JAX_PLATFORMS: 'cpu', HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
  });
  const ended = once(server, 'exit');
  try {
    const url = await Promise.race([readAddress(server), ended.then(() => Promise.reject(new Error('it has ended')))]);
    return { url, close: () => end(server, ended) };
  } catch (error) {
    await end(server, ended);
    throw new Error(`SkyRL did not start: ${(await readFile(log, 'utf8')).slice(-2000)}`, { cause: error });
  }
}

async function readAddress({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('its output is not read');
  for await (const line of createInterface({ input: stdout })) {
    if (/^http:\S+$/.test(line)) return await untilHealthy(line);
  }
  throw new Error('it printed no address');
}

/** Waits until the server answers, because it prints the address a moment before it listens. */
async function untilHealthy(url: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${url}/api/v1/healthz`).catch(() => undefined);
    if (answer?.ok === true) return url;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Ends the server, which ends its engine itself. */
async function end(server: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) server.kill('SIGTERM');
  await ended;
}
