import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findControlGroups, openControlGroup, type ControlGroup } from '@agentjet/sandbox/testing';
import type { RunReply, RunRequest } from './case-runner.js';
import { processesBelow, sampleBelow, sampleOf, type Sample } from './observe.js';

/** The observations of a program, from outside. */
export type Seen = {
  /** Null if the process that ran the program ended or had to be killed. */
  readonly reply: RunReply | null;
  /** Samples of the program's use of resources. */
  readonly samples: readonly Sample[];
  /** The number of processes that remained after the program. */
  readonly left: number;
};

const sampleMs = 25;
/**
 * Bounds that protect the machine if a sandbox fails. `graceMs` is for one program, the others are for all together.
 */
const outer = { bytes: 1.5 * 1024 ** 3, tasks: 600, graceMs: 15_000 };

/** Runs programs in a process that it watches. A process that does not answer is killed and replaced. */
export class WatchedRunner {
  readonly #env: Readonly<Record<string, string>>;
  readonly #leftOpen: string;
  readonly #group: ControlGroup | null;
  #child: ChildProcess | null = null;

  /** The process gets the variables `env`, and an open descriptor of the file `leftOpen` that its children inherit. */
  constructor({ env, leftOpen }: { readonly env: Readonly<Record<string, string>>; readonly leftOpen: string }) {
    this.#env = env;
    this.#leftOpen = leftOpen;
    const parents = findControlGroups();
    this.#group = parents === null ? null : openControlGroup(parents, outer);
  }

  async run(request: RunRequest): Promise<Seen> {
    this.#child ??= await this.#start();
    const child = this.#child;
    const pid = child.pid ?? 0;
    const ignored = new Set(processesBelow(pid));
    const before = request.language === 'javascript' ? sampleOf(pid).bytes : 0;
    const sample = (): Sample => {
      if (request.language !== 'javascript') return sampleBelow(pid, ignored);
      const { bytes, ...rest } = sampleOf(pid);
      return { ...rest, bytes: bytes - before };
    };
    const samples: Sample[] = [];
    const timer = setInterval(() => {
      samples.push(sample());
      if ((samples.at(-1)?.bytes ?? 0) > outer.bytes) child.kill('SIGKILL');
    }, sampleMs);
    const reply = await ask(child, request).finally(() => clearInterval(timer));
    const left = await countLeft(pid, ignored);
    if (reply === null || left > 0) this.#end();
    return { reply, samples, left };
  }

  async close(): Promise<void> {
    this.#end();
    await this.#group?.close();
  }

  async #start(): Promise<ChildProcess> {
    const enter = (this.#group?.entries ?? []).map((file) => `echo 0 > ${file} && `).join('');
    const file = path.join(import.meta.dirname, 'case-runner.ts');
    const command = ['-c', `${enter}exec "$@"`, 'sh', process.execPath, ...process.execArgv, file];
    const descriptor = openSync(this.#leftOpen, 'r');
    const child = spawn('/bin/sh', command, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc', ...Array<'ignore'>(4).fill('ignore'), descriptor],
      env: { PATH: process.env['PATH'], ...this.#env },
    });
    closeSync(descriptor);
    await new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('error', reject);
      child.once('exit', (status) => reject(new Error(`The process for the programs ended with ${status}.`)));
    });
    return child;
  }

  #end(): void {
    if (this.#child?.pid !== undefined) {
      for (const pid of [...processesBelow(this.#child.pid), this.#child.pid]) kill(pid);
    }
    this.#child = null;
  }
}

/** Returns null if there is no answer in time. */
async function ask(child: ChildProcess, request: RunRequest): Promise<RunReply | null> {
  const answered = new Promise<RunReply | null>((resolve, reject) => {
    for (const name of ['message', 'exit']) child.removeAllListeners(name);
    child.once('message', (reply: RunReply | { readonly failed: string }) => {
      if ('failed' in reply) reject(new Error(reply.failed));
      else resolve(reply);
    });
    child.once('exit', () => resolve(null));
    child.send(request);
  });
  const timer = new AbortController();
  const tooLate = sleep(1000 * request.limits.seconds + outer.graceMs, null, { signal: timer.signal });
  tooLate.catch(() => undefined);
  return Promise.race([answered, tooLate]).finally(() => timer.abort());
}

/** Counts the remaining processes. Waits first, because killed processes need a moment to end. */
async function countLeft(pid: number, ignored: ReadonlySet<number>): Promise<number> {
  for (let tries = 0; tries < 20 && processesBelow(pid, ignored).length > 0; tries++) await sleep(50);
  return processesBelow(pid, ignored).length;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended.
  }
}
