import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AgentJetError } from '@agentjet/core';
import type { TrackedRun, Tracker } from '../tracker.js';

/** A Python process with the tracker's library. It answers each row that the library took. */

const script = fileURLToPath(new URL('../../python/track.py', import.meta.url));
/** How long the library may take to send the rest when the run has ended. */
const closeLimitMs = 60_000;
/** How long it may take a row; a network that is down must not keep a finished run from ending. */
const writeLimitMs = 120_000;

export function openPythonTracker(name: string, run: TrackedRun): Promise<Tracker> {
  const python = process.env['AJET_TRACKER_PYTHON'] ?? (process.platform === 'win32' ? 'python' : 'python3');
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'pipe'] });
  const answers = new Answers(child, (code, lastLines) => describeEnd(code, { name, python, lastLines }));
  const id = path.basename(run.runDir).replaceAll(/[^\w-]/g, '-');
  const send = (value: unknown): void => void child.stdin.write(`${JSON.stringify(value)}\n`);
  send({
    tracker: name,
    project: run.project,
    experiment: run.experiment,
    dir: run.runDir,
    id: `${run.experiment}-${id}`,
  });
  const tracker: Tracker = {
    async write(rows) {
      for (const { step, values } of rows) send({ step, values });
      await withLimit(answers.wait(rows.length), writeLimitMs, () => {
        child.kill();
        throw new AgentJetError('tracker_silent', `it took no figures for ${writeLimitMs / 1000} seconds.`);
      });
    },
    async close() {
      child.stdin.end();
      await withLimit(answers.ended, closeLimitMs, () => child.kill());
    },
  };
  return Promise.resolve(tracker);
}

async function withLimit(work: Promise<void>, limitMs: number, onLate: () => void): Promise<void> {
  const timer = new AbortController();
  const late = sleep(limitMs, undefined, { signal: timer.signal }).then(onLate);
  try {
    await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    timer.abort();
  }
}

class Answers {
  /** Resolves, and never rejects, when the process has ended. */
  readonly ended: Promise<void>;
  #count = 0;
  #awaited = 0;
  #failure: Error | undefined;
  #onChange: (() => void) | undefined;

  constructor(child: ChildProcess, describe: (code: number | string, lastLines: string) => Error) {
    let lastLines = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      lastLines = (lastLines + chunk.toString()).slice(-2000);
    });
    child.stdin?.on('error', () => undefined); // its end says why
    if (child.stdout !== null) createInterface(child.stdout).on('line', () => this.#change(() => this.#count++));
    this.ended = new Promise((resolve) => {
      const end = (code: number | string): void => {
        this.#change(() => (this.#failure ??= describe(code, lastLines)));
        resolve();
      };
      child.once('error', (error) => end(error.message));
      child.once('close', (code) => end(code ?? 'a signal'));
    });
    child.unref();
  }

  /** Resolves once so many more rows were taken; rejects if the process ends before. */
  async wait(more: number): Promise<void> {
    this.#awaited += more;
    while (this.#count < this.#awaited) {
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  #change(apply: () => void): void {
    apply();
    this.#onChange?.();
  }
}

function describeEnd(
  code: number | string,
  { name, python, lastLines }: { readonly name: string; readonly python: string; readonly lastLines: string },
): Error {
  if (code === 3)
    return new AgentJetError(
      'no_tracker',
      `${python} has no ${name}. Install it with \`${python} -m pip install ${name}\`, or name another interpreter in AJET_TRACKER_PYTHON.`,
    );
  if (typeof code === 'string')
    return new AgentJetError(
      'no_tracker',
      `${python} could not be started or was stopped (${code}). Install Python and \`pip install ${name}\`, or name an interpreter in AJET_TRACKER_PYTHON.`,
    );
  const said = lastLines.trim().split('\n').slice(-3).join(' ');
  return new AgentJetError(
    'tracker_ended',
    `its process ended with code ${code}: ${said === '' ? 'without a word' : said}.`,
  );
}
