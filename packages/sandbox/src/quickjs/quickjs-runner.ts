import { Worker } from 'node:worker_threads';
import { toErrorMessage } from '@agentjet/core';
import {
  codeLimitsOf,
  refuseCode,
  SandboxError,
  type CodeOptions,
  type CodeResult,
  type CodeRunner,
  type Dialogue,
  type DialogueResult,
} from '../code-runner.js';
import type { QuickjsAnswer, QuickjsReply, QuickjsRequest } from './quickjs-thread.js';

/** The thread is stopped if its code does not end within this time after its limit. */
const graceMs = 250;

/**
 * The thread is replaced after a run whose interpreters took more memory than this, because V8 frees their memory late.
 */
const maxKeptBytes = 48 * 1024 * 1024;

const mechanism = 'webassembly';

/**
 * Runs JavaScript in QuickJS, compiled to WebAssembly, in a thread. It works on every platform without an installation.
 * Every run gets a new interpreter. Runs are executed one after another. A thread that does not stop is terminated and
 * replaced.
 */
export function createQuickjsRunner(): CodeRunner {
  return new QuickjsRunner();
}

class QuickjsRunner implements CodeRunner {
  readonly languages = ['javascript'] as const;
  #thread: Promise<Worker> | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  async run(code: string, options: CodeOptions): Promise<CodeResult> {
    const refused = refuseCode(code, options);
    if (refused !== null) return refused;
    return this.#inTurn(async () => {
      const limits = codeLimitsOf(options);
      const request = { code, files: options.files ?? {}, stdin: options.stdin ?? '', limits };
      const answer = await this.#request(request, limits.seconds, options.signal);
      if (typeof answer !== 'string' && 'stdout' in answer) return { ...answer, mechanism };
      return typeof answer === 'string' ? ended(answer) : broken('broken' in answer ? answer.broken : 'no result');
    });
  }

  async talk({ asking, answering, signal, ...dialogue }: Dialogue): Promise<DialogueResult> {
    return this.#inTurn(async () => {
      const limits = codeLimitsOf(dialogue);
      const answer = await this.#request({ asking, answering, limits }, 2 * limits.seconds, signal);
      if (typeof answer !== 'string' && 'conclusion' in answer) return { ...answer, mechanism };
      const { error, limit } =
        typeof answer === 'string' ? ended(answer) : broken('broken' in answer ? answer.broken : 'no result');
      const fine = { error: null, limit: null };
      return { conclusion: null, mechanism, asking: fine, answering: { error, limit } };
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const mine = this.#last.then(run);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  /**
   * Sends a request to the thread. If the answer is late or the interpreter is broken, the thread is terminated, and
   * the next request starts a new one.
   */
  async #request(
    request: QuickjsRequest,
    seconds: number,
    signal: AbortSignal | undefined,
  ): Promise<QuickjsAnswer | 'time' | 'aborted'> {
    if (this.#isClosed) throw new SandboxError('failed', 'The sandbox is closed.');
    if (signal?.aborted === true) return 'aborted';
    const thread = await (this.#thread ??= startThread());
    try {
      const reply = await ask(thread, request, seconds, signal);
      const isWorn = typeof reply === 'string' || 'broken' in reply.answer || reply.memoryBytes > maxKeptBytes;
      if (isWorn) await this.#end();
      return typeof reply === 'string' ? reply : reply.answer;
    } catch (error) {
      await this.#end();
      throw new SandboxError('failed', `The sandbox failed: ${toErrorMessage(error)}`, { cause: error });
    }
  }

  async #end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    await (await thread?.catch(() => undefined))?.terminate();
  }
}

/** Returns the answer of the thread. If the time is over or the signal aborts first, returns `time` or `aborted`. */
function ask(
  thread: Worker,
  request: QuickjsRequest,
  seconds: number,
  signal: AbortSignal | undefined,
): Promise<QuickjsReply | 'time' | 'aborted'> {
  const done = new AbortController();
  return new Promise<QuickjsReply | 'time' | 'aborted'>((resolve, reject): void => {
    const timer = setTimeout(() => resolve('time'), seconds * 1000 + graceMs);
    const abort = (): void => resolve('aborted');
    if (signal?.aborted === true) return abort();
    signal?.addEventListener('abort', abort, { once: true });
    thread.once('message', resolve);
    thread.once('error', reject);
    done.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      thread.off('message', resolve);
      thread.off('error', reject);
    });
    thread.postMessage(request);
  }).finally(() => done.abort());
}

/** Returns the result of a run whose thread was stopped before it gave one. */
function ended(limit: 'time' | 'aborted'): CodeResult {
  return { stdout: '', value: undefined, error: null, limit, mechanism };
}

/**
 * Returns the result of code that broke its interpreter. This is not a SandboxError, because the code caused it and
 * would cause it again.
 */
function broken(why: string): CodeResult {
  return { stdout: '', value: undefined, error: `The code broke its interpreter: ${why}`, limit: null, mechanism };
}

async function startThread(): Promise<Worker> {
  const isSource = import.meta.url.endsWith('.ts');
  const file = isSource ? '../testing/thread-from-source.mjs' : './quickjs-thread.js';
  // The thread gets no environment variables, no flags of the process, and no input.
  const thread = new Worker(new URL(file, import.meta.url), { env: {}, execArgv: [], stdin: false });
  thread.unref();
  await new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
  return thread;
}
