import { fork } from 'node:child_process';
import path from 'node:path';
import type { HostAnswer, HostRequest } from './endpoint-host.js';

/** A process with an endpoint. `ask` answers in the order of the questions. */
export type Host = {
  readonly ask: (request: HostRequest) => Promise<HostAnswer>;
  readonly close: () => void;
  /** Its output to stderr. It is empty unless the process has a defect. */
  readonly errors: () => string;
};

/**
 * V8 lets its heap grow tens of MB above what is in use, depending on the load of the machine, and returns this memory
 * at any time. In a quarter of an hour this can look like a slope of 70 MB per hour, up or down. A small nursery keeps
 * the heap close to what is in use.
 */
const steadyHeap = ['--expose-gc', '--max-semi-space-size=1'];

export async function startHost({ collects }: { readonly collects: boolean }): Promise<Host> {
  const execArgv = [...process.execArgv, ...(collects ? steadyHeap : [])];
  const child = fork(path.join(import.meta.dirname, 'endpoint-host.ts'), { silent: true, execArgv });
  let errors = '';
  child.stdout?.resume();
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const waiting: { readonly resolve: (answer: HostAnswer) => void; readonly reject: (error: Error) => void }[] = [];
  const next = (): Promise<HostAnswer> => new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  child.on('message', (answer) => waiting.shift()?.resolve(answer as HostAnswer));
  child.on('exit', () =>
    waiting.splice(0).forEach(({ reject }) => reject(new Error(`The endpoint has died: ${errors}`))),
  );
  await next();
  const ask = (request: HostRequest): Promise<HostAnswer> => {
    const answered = next();
    child.send(request);
    return answered;
  };
  return { ask, close: () => void child.kill('SIGKILL'), errors: () => errors };
}
