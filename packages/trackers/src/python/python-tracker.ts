import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AgentJetError, quoteForShell } from '@agentjet/core';
import type { TrackedRun, Tracker } from '../tracker.js';

/**
 * Runs a Python process with the tracker's library. The process prints the number of each row that the library has
 * taken.
 */

const script = fileURLToPath(new URL('../../python/track.py', import.meta.url));
/** Time limits, so that a network that is down cannot keep a finished run from ending. */
type TrackerLimits = {
  /** How long the library may take to send the rest after the run has ended. Default: one minute. */
  readonly closeMs?: number;
  /** How long the library may take for a row. Default: two minutes. */
  readonly writeMs?: number;
};

export function openPythonTracker(
  name: string,
  run: TrackedRun,
  { closeMs = 60_000, writeMs = 120_000 }: TrackerLimits = {},
): Promise<Tracker> {
  const python = process.env['AJET_TRACKER_PYTHON'] ?? (process.platform === 'win32' ? 'python' : 'python3');
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'pipe'] });
  const answers = new Answers(child, (code, lastLines) => describeEnd(code, { name, python, lastLines }));
  const send = (value: unknown): void => void child.stdin.write(`${JSON.stringify(value)}\n`);
  send({
    tracker: name,
    project: run.project,
    experiment: run.experiment,
    dir: run.runDir,
    id: toId(run),
  });
  const tracker: Tracker = {
    async write(rows) {
      for (const { step, values } of rows) send({ step, values });
      await withLimit(answers.wait(rows.length), writeMs, () => {
        child.kill();
        throw new AgentJetError('tracker_silent', `it took no metrics for ${writeMs / 1000} seconds.`);
      });
    },
    async close() {
      child.stdin.end();
      await withLimit(answers.end(), closeMs, () => {
        child.kill();
        throw new AgentJetError(
          'tracker_silent',
          `it was stopped because it had not sent the rest ${closeMs / 1000} seconds after the end of the run.`,
        );
      });
    },
  };
  return Promise.resolve(tracker);
}

/** Returns an id that stays the same when the run continues. wandb does not allow / \ # ? % : in it. */
function toId({ experiment, runDir, name = path.basename(runDir) }: TrackedRun): string {
  return `${experiment.replaceAll(/[/\\#?%:]/g, '-')}-${name.replaceAll(/[^\w-]/g, '-')}`;
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
  readonly #ended: Promise<number | string>;
  #count = 0;
  #awaited = 0;
  #failure: Error | undefined;
  #isTold = false;
  #onChange: (() => void) | undefined;

  constructor(child: ChildProcess, describe: (code: number | string, lastLines: string) => Error) {
    let lastLines = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      lastLines = (lastLines + chunk.toString()).slice(-2000);
    });
    child.stdin?.on('error', () => undefined); // the exit of the process gives the reason
    if (child.stdout !== null) createInterface(child.stdout).on('line', () => this.#change(() => this.#count++));
    this.#ended = new Promise((resolve) => {
      const end = (code: number | string): void => {
        this.#change(() => (this.#failure ??= describe(code, lastLines)));
        resolve(code);
      };
      child.once('error', (error) => end(error.message));
      child.once('close', (code) => end(code ?? 'a signal'));
    });
    child.unref();
  }

  /** Resolves once the library has taken `more` further rows. Rejects if the process ends before that. */
  async wait(more: number): Promise<void> {
    this.#awaited += more;
    while (this.#count < this.#awaited) {
      this.#tell();
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  /** Resolves when the process has ended. Rejects if the process failed and no `wait` has reported the failure. */
  async end(): Promise<void> {
    const code = await this.#ended;
    if (code !== 0 && !this.#isTold) this.#tell();
  }

  #tell(): void {
    if (this.#failure === undefined) return;
    this.#isTold = true;
    throw this.#failure;
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
      `${python} has no ${name}. Install it with \`${quoteForShell(python)} -m pip install ${name}\`, or name another interpreter in AJET_TRACKER_PYTHON.`,
    );
  if (typeof code === 'string')
    return new AgentJetError(
      'no_tracker',
      `${python} could not be started or was stopped (${code}). Install Python and \`pip install ${name}\`, or name an interpreter in AJET_TRACKER_PYTHON.`,
    );
  const said = lastLines.trim().split('\n').slice(-3).join(' ');
  return new AgentJetError(
    'tracker_ended',
    `its process ended with code ${code}: ${said === '' ? 'it printed nothing' : said}.`,
  );
}
