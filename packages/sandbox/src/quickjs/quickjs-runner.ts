import { Worker } from 'node:worker_threads';
import { toErrorMessage } from '@agentjet/core';
import {
  limitsOf,
  refuseCode,
  SandboxError,
  type CodeOptions,
  type CodeResult,
  type CodeRunner,
} from '../code-runner.js';
import type { ThreadAnswer, ThreadRequest } from './quickjs-thread.js';

/** How long after its time code may still take to notice it, before its thread is ended. */
const graceMs = 1000;

/**
 * JavaScript in QuickJS, compiled to WebAssembly, in a thread: on every platform, without installing anything. Every run gets a new
 * interpreter. One run at a time; further ones wait. A thread that does not stop is ended and replaced.
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
    const mine = this.#last.then(() => this.#runNow(code, options));
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  async #runNow(code: string, options: CodeOptions): Promise<CodeResult> {
    if (this.#isClosed) throw new SandboxError('failed', 'The sandbox is closed.');
    if (options.signal?.aborted === true) return ended('aborted');
    const limits = limitsOf(options);
    const thread = await (this.#thread ??= startThread());
    try {
      const answer = await ask(
        thread,
        { code, files: options.files ?? {}, stdin: options.stdin ?? '', limits },
        options.signal,
      );
      if (typeof answer === 'object' && !('broken' in answer)) return answer;
      await this.#end();
      return typeof answer === 'object' ? broken(answer.broken) : ended(answer);
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

/** What the thread answers, or why nobody waits for it any longer. */
function ask(thread: Worker, request: ThreadRequest, signal?: AbortSignal): Promise<ThreadAnswer | 'time' | 'aborted'> {
  const done = new AbortController();
  return new Promise<ThreadAnswer | 'time' | 'aborted'>((resolve, reject): void => {
    const timer = setTimeout(() => resolve('time'), request.limits.seconds * 1000 + graceMs);
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

/** A result that the thread did not give. */
function ended(limit: 'time' | 'aborted'): CodeResult {
  return { stdout: '', value: undefined, error: null, limit };
}

/** The code's own doing: another run of it would end in the same way. */
function broken(why: string): CodeResult {
  return { stdout: '', value: undefined, error: `The code broke its interpreter: ${why}`, limit: null };
}

async function startThread(): Promise<Worker> {
  const isSource = import.meta.url.endsWith('.ts');
  const file = isSource ? '../testing/thread-from-source.mjs' : './quickjs-thread.js';
  // The thread gets no variables of ours, flags of the process, or input.
  const thread = new Worker(new URL(file, import.meta.url), { env: {}, execArgv: [], stdin: false });
  thread.unref();
  await new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
  return thread;
}
