import { Worker } from 'node:worker_threads';
import type { ThreadAnswer, ThreadRequest } from './document-thread.js';

export type ThreadLimits = {
  /** The time limit for one document. */
  readonly seconds: number;
  /** The maximum memory that the process may use for the document, in addition to what it used before. */
  readonly megabytes: number;
};

export const threadLimits: ThreadLimits = { seconds: 120, megabytes: 2048 };

const watchMs = 100;

let thread: Promise<Worker> | null = null;
let last: Promise<unknown> = Promise.resolve();

/**
 * Reads the text of a document in a thread. The thread is stopped and replaced if the document takes too long or too
 * much memory. The thread reads one document at a time. Rejects with an Error that says why the document cannot be
 * read.
 */
export function readInThread(request: ThreadRequest, limits: ThreadLimits): Promise<string> {
  const mine = last.then(() => read(request, limits));
  last = mine.catch(() => undefined);
  return mine;
}

async function read(request: ThreadRequest, limits: ThreadLimits): Promise<string> {
  const started = await (thread ??= startThread());
  try {
    const answer = await ask(started, request, limits);
    if ('text' in answer) return answer.text;
    throw new Error(answer.error);
  } catch (error) {
    thread = null; // the state after a broken document is unknown
    await started.terminate();
    throw error;
  }
}

function ask(worker: Worker, request: ThreadRequest, { seconds, megabytes }: ThreadLimits): Promise<ThreadAnswer> {
  const before = process.memoryUsage.rss();
  const done = new AbortController();
  return new Promise<ThreadAnswer>((resolve, reject) => {
    const tooLarge = (): void => reject(new Error(`it takes more than ${megabytes} MB of memory to read`));
    const timer = setTimeout(() => reject(new Error(`it takes more than ${seconds} s to read`)), seconds * 1000);
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > megabytes * 2 ** 20) tooLarge();
    }, watchMs);
    const fail = (error: NodeJS.ErrnoException): void =>
      error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLarge() : reject(error);
    worker.once('message', resolve);
    worker.once('error', fail);
    done.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      clearInterval(watch);
      worker.off('message', resolve);
      worker.off('error', fail);
    });
    worker.postMessage(request);
  }).finally(() => done.abort());
}

async function startThread(): Promise<Worker> {
  const isSource = import.meta.url.endsWith('.ts');
  const file = isSource ? '../testing/document-thread-from-source.mjs' : './document-thread.js';
  // The thread gets none of our environment variables, because other people wrote the documents.
  const worker = new Worker(new URL(file, import.meta.url), {
    env: {},
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: threadLimits.megabytes },
  });
  for (const said of [worker.stdout, worker.stderr]) said.resume(); // discards warnings about documents
  await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  worker.on('error', () => undefined); // an error between two documents does not matter
  worker.unref(); // while a document is read, its timer keeps the process alive
  return worker;
}
