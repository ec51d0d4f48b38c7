import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf, lineOf } from '@agentjet/ledger';
import { expect, it } from 'vitest';
import { freePort } from '../free-port.js';
import { countHeld, exited, isQuiet, killChild, postTasks, readLines, spawnChild } from './kill-processes.js';
import { findRun, foldRun } from './replay-weights.js';

/** The GPU worker's Python, here on the CPU. `npm run setup:torch` makes it. */
const python = process.env['AJET_TORCH_PYTHON'] ?? path.resolve('trainer/torch/.venv/bin/python');
const isAsked = process.env['AJET_LONG_TESTS'] === '1';

/** A launcher that gets a command line and runs it again whenever the command ends. */
class Launcher {
  readonly #line: string;
  #child: ChildProcess | undefined;
  #isOver = false;
  numStarted = 0;

  constructor(line: string) {
    this.#line = line.replace('torchrun', `exec ${python} -m torch.distributed.run`);
    void this.#keepUp();
  }

  stop(): void {
    this.#isOver = true;
    this.kill();
  }

  /** Ends it together with the processes that it started. */
  kill(): void {
    if (this.#child?.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null)
      process.kill(-this.#child.pid, 'SIGKILL');
  }

  async #keepUp(): Promise<void> {
    while (!this.#isOver) {
      const env = { ...process.env, OMP_NUM_THREADS: '1', GLOO_SOCKET_IFNAME: 'lo', CUDA_VISIBLE_DEVICES: '' };
      this.#child = spawn('bash', ['-c', this.#line], { env, stdio: 'ignore', detached: true });
      this.numStarted++;
      await exited(this.#child);
      await sleep(200);
    }
  }
}

/** A server, and the command lines for a worker that it printed. */
class Server {
  readonly lines: string[] = [];
  readonly child: ChildProcess;
  readonly ready: Promise<void>;

  constructor(args: readonly string[]) {
    this.child = spawnChild('server-child.ts', args, 'pipe');
    let said = '';
    this.child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const line = /Run on every node: (.*)\n/.exec(said)?.[1];
      if (line !== undefined && this.lines.length === 0) this.lines.push(line);
    });
    this.ready = new Promise((resolve, reject) => {
      this.child.stdout?.on('data', (chunk: Buffer) => chunk.toString().includes('ready') && resolve());
      this.child.once('exit', (code) => reject(new Error(`The server ended with ${code}. ${said}`)));
    });
    this.ready.catch(() => undefined);
  }
}

it.skipIf(process.platform !== 'linux' || !existsSync(python) || !isAsked)(
  'two policies, one on an attached torch worker, lose nothing while the server and the worker are killed, and the first line starts them all',
  async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'attached-'));
    const [port, workerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const start = (): Server => new Server([dir, String(port), '2', String(workerPort)]);
    const servers = [start()];
    let launcher: Launcher | undefined;
    let client: ChildProcess | undefined;
    try {
      await expect.poll(() => servers[0]?.lines).toHaveLength(1);
      launcher = new Launcher(servers[0]?.lines[0] ?? '');
      await servers[0]?.ready;
      await postTasks(url, 30);
      client = spawnChild('client-child.ts', [url, 'c0', path.join(dir, 'c0')]);
      const receipts = (): number => readLines(path.join(dir, 'c0')).length;
      for (const [kill, enough] of [15, 30].entries()) {
        await expect.poll(receipts).toBeGreaterThan(enough);
        await killChild(servers.at(-1)?.child);
        expect(statSync(path.join(findRun(dir), 'policies/policy_second/torch-worker.secret')).mode & 0o777).toBe(
          0o600,
        );
        servers.push(start());
        await servers.at(-1)?.ready; // this resolves when the worker has found the server
        expect(servers.at(-1)?.lines).toEqual(servers[0]?.lines);
        expect(launcher.numStarted).toBeGreaterThan(kill + 1);
      }
      await expect.poll(receipts).toBeGreaterThan(45);
      launcher.kill(); // kills the worker alone, while its server continues
      await exited(client);
      await isQuiet(url, findRun(dir));
    } finally {
      launcher?.stop();
      for (const child of [client, ...servers.map((server) => server.child)]) await killChild(child);
    }
    const { state, close } = await foldRun(findRun(dir));
    await close();
    const known = new Set([
      ...[...state.finished.episodes()].map(({ episodeId }) => episodeId),
      ...state.episodes.keys(),
    ]);
    expect(readLines(path.join(dir, 'c0')).filter((id) => !known.has(id))).toEqual([]);
    for (const policy of ['policy_main', 'policy_second']) {
      expect(countHeld(state, policy)).toEqual({ missing: 0, doubled: 0 });
      const { acknowledged, trained, dropped } = accountOf(state, policy);
      expect(acknowledged).toBeGreaterThanOrEqual(60);
      expect(acknowledged).toBe(trained + dropped);
      expect(trained / acknowledged).toBeGreaterThanOrEqual(0.95);
    }
    // Steps were repeated on torch, so the weights may differ.
    expect(lineOf(state, 'policy_second').incarnation).toBeGreaterThanOrEqual(1);
    await rm(dir, { recursive: true, force: true });
  },
);
