import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
import { openCodeRunner, SandboxError, type CodeResult } from '@agentjet/sandbox';
import { Outage, type Environment, type Session, type StepResult, type Verdict } from 'agentjet';
import type { Job } from './jobs.js';

/**
 * An office of four apps as a world. An action is JavaScript, which runs in a sandbox next to the apps. Afterwards
 * the state of the apps is read. An episode succeeds if the apps are in the expected state. Any other change makes it
 * fail.
 */
export type OfficeState = {
  readonly contacts: readonly { readonly name: string; readonly mail: string; readonly account: number }[];
  readonly meetings: readonly { readonly id: number; readonly name: string; readonly day: string }[];
  readonly sent: readonly { readonly to: string; readonly text: string }[];
  readonly paid: readonly { readonly account: number; readonly amount: number }[];
};

const limits = { seconds: 2, megabytes: 32, outputCharacters: 500 };
const runner = openCodeRunner('javascript');
const apps = readFileSync(path.join(import.meta.dirname, 'apps.js'), 'utf8');

/** Runs the agent's code next to the apps, and returns their state and the result of the code. */
const program = `${apps}
(() => {
  const { state, code } = JSON.parse(stdin);
  const office = globalThis.openOffice(state);
  delete globalThis.openOffice;
  Object.assign(globalThis, office.globals);
  let value;
  let error = null;
  try { value = (0, eval)(code); } catch (thrown) { error = String(thrown); }
  return { state: office.state, isDone: office.isDone(), value, error };
})()`;

type Ran = {
  readonly state: OfficeState;
  readonly isDone: boolean;
  readonly value?: unknown;
  readonly error: string | null;
};

async function run(state: OfficeState, code: string, signal: AbortSignal): Promise<CodeResult> {
  try {
    return await runner.run(program, {
      language: 'javascript',
      limits,
      signal,
      stdin: JSON.stringify({ state, code }),
    });
  } catch (error) {
    if (error instanceof SandboxError) throw new Outage(error.message, { host: 'sandbox', cause: error });
    throw error;
  }
}

/**
 * Returns the output that the agent sees, and the state after its code. If a limit stops the code, the state does not
 * change.
 */
async function act(
  state: OfficeState,
  code: string,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly state: OfficeState; readonly isDone: boolean }> {
  const { value: ran, stdout, error, limit } = await run(state, code, signal);
  if (limit !== null) return { text: `stopped: the code reached its limit of ${limit}`, state, isDone: false };
  if (!isRan(ran)) return { text: error ?? 'the code broke the apps', state, isDone: false };
  const shown = ran.error ?? (ran.value === undefined ? 'ok' : JSON.stringify(ran.value));
  return {
    text: [stdout.trim(), shown].filter((part) => part !== '').join('\n'),
    state: ran.state,
    isDone: ran.isDone,
  };
}

function isRan(value: unknown): value is Ran {
  return isJsonObject(value) && isJsonObject(value['state']) && typeof value['isDone'] === 'boolean';
}

/** Returns a record as a string that does not depend on the order of its fields. */
function writeRecord(record: object): string {
  return JSON.stringify(Object.entries(record).toSorted(([a], [b]) => a.localeCompare(b)));
}

/** Compares records in any order. */
function isSame(state: OfficeState, wanted: OfficeState): boolean {
  const write = ({ contacts, meetings, sent, paid }: OfficeState): string =>
    JSON.stringify([contacts, meetings, sent, paid].map((records) => records.map(writeRecord).toSorted()));
  return write(state) === write(wanted);
}

function compare(state: OfficeState, { before, after }: Job): Verdict {
  const isSuccess = isSame(state, after);
  const isTouched = !isSame(state, before);
  return { reward: isSuccess ? 1 : 0, isSuccess, parts: { wrong_change: isTouched && !isSuccess ? 1 : 0 } };
}

/** office.yaml names this world. */
export const office: Environment = {
  name: 'the office',
  open: async (task, { signal }): Promise<Session> => {
    const job = task.metadata as Job;
    let state = job.before;
    return {
      observation: { text: task.mainQuery },
      tools: [],
      step: async (action): Promise<StepResult> => {
        const done = await act(state, typeof action === 'string' ? action : '', signal);
        ({ state } = done);
        return { observation: { text: done.text }, reward: null, isDone: done.isDone };
      },
      evaluate: async () => compare(state, job),
      close: () => undefined,
    };
  },
};
