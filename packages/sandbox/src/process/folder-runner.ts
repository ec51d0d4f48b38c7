import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  codeLimitsOf,
  refuseCode,
  type CodeLimits,
  type CodeOptions,
  type CodeResult,
  type CodeRunner,
  type Dialogue,
  type DialogueResult,
  type Side,
} from '../code-runner.js';
import { exchangeLines } from './exchange-lines.js';
import { endOf, requireStarted, watchUsage, type SandboxProcess } from './sandbox-process.js';
import { exitOf, watchLimits } from './watch-limits.js';

export type Launch = (folder: string, side: Side, limits: CodeLimits) => Promise<SandboxProcess>;

/** A sandbox that is not ready after this time has failed to start. */
const startMs = 60_000;

/** Runs Python in processes that `launch` starts, each in a new folder, which is removed afterwards. */
export function createFolderRunner(launch: Launch): CodeRunner {
  return {
    languages: ['python'],
    async run(code, options) {
      const refused = refuseCode(code, options);
      if (refused !== null) return refused;
      if (options.signal?.aborted === true) return { stdout: '', value: undefined, error: null, limit: 'aborted' };
      return inFolder(async (folder) => {
        const limits = codeLimitsOf(options);
        return collect(await launch(folder, { code, files: options.files ?? {} }, limits), limits, options);
      });
    },
    talk: (dialogue) => inFolder((asking) => inFolder((answering) => talk(launch, dialogue, { asking, answering }))),
    close: async () => {},
  };
}

async function inFolder<Result>(run: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ajet-sandbox-'));
  try {
    return await run(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function collect(started: SandboxProcess, limits: CodeLimits, options: CodeOptions): Promise<CodeResult> {
  const { child, start, kill } = started;
  // Ignores a broken pipe, because code may end without reading its input.
  child.stdin?.on('error', () => undefined).end(options.stdin ?? '');
  const watched = watchLimits(child, {
    limits,
    signal: options.signal,
    kill,
    readErrors: (text) => start.read(text, () => watched.startClock()),
  });
  const timer = setTimeout(() => start.isReady || kill(), startMs);
  const usage = watchUsage(started, watched.end);
  const exit = await exitOf(child).finally(() => {
    clearTimeout(timer);
    usage.stop();
  });
  const { stdout, stderr, limit } = watched.stop();
  try {
    const { mechanism } = started;
    if (limit !== null) return { stdout, value: undefined, error: stderr.trim() || null, limit, mechanism };
    requireStarted(started, exit);
    return { stdout, value: undefined, ...endOf(started, exit, stderr), mechanism };
  } finally {
    await started.cleanUp(limit !== null);
  }
}

async function talk(
  launch: Launch,
  { asking, answering, signal, ...dialogue }: Dialogue,
  folders: { readonly asking: string; readonly answering: string },
): Promise<DialogueResult> {
  const fine = { error: null, limit: null };
  for (const name of ['asking', 'answering'] as const) {
    const refused = refuseCode({ asking, answering }[name].code, { asking, answering }[name]);
    if (refused !== null) return { conclusion: null, asking: fine, answering: fine, [name]: refused };
  }
  if (signal?.aborted === true) return { conclusion: null, asking: { error: null, limit: 'aborted' }, answering: fine };
  const limits = codeLimitsOf(dialogue);
  const first = await launch(folders.asking, asking, limits);
  // Listens to the first process while the second one starts. Otherwise, if the first process ended early, its output
  // and its exit would be lost.
  const pipes = [first.child.stdout, first.child.stderr];
  const hold = (): void => undefined;
  for (const pipe of pipes) pipe?.on('readable', hold);
  const second = await launch(folders.answering, answering, limits);
  for (const pipe of pipes) pipe?.off('readable', hold);
  return exchangeLines({ asking: first, answering: second }, { limits, signal, startMs });
}
