import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { type BenchOptions, type BenchResult, median, numberOption, type OptionTexts } from '../bench.js';
import { probeImport } from './probe-import.js';

/**
 * What does `import 'agentjet'` cost? It runs fresh Node processes and times them from start to end. Every second
 * process imports the built package; the others do nothing. A further process counts the files and native libraries
 * that are loaded.
 */

const root = path.resolve(import.meta.dirname, '../../..');

/** The figures are wall times of processes that use one core. */
export const wallTimeOf = 'one core';

export const optionTexts: OptionTexts = { '--rounds <n>': 'default 11' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const rounds = numberOption(args, '--rounds', 11);
  const [importing, empty]: [number[], number[]] = [[], []];
  // Read the files once before the rounds, so that the first round is like the others.
  timeStart("await import('agentjet')");
  for (let round = 0; round < rounds; round++) {
    importing.push(timeStart("await import('agentjet')"));
    empty.push(timeStart(''));
  }
  const { files, native } = probeImport('agentjet', { cwd: root });
  const summary = {
    agentjet_ms: toMs(median(importing)),
    node_ms: toMs(median(empty)),
    files_loaded: files.length,
    native_libraries: native.length,
  };
  report(
    `import 'agentjet': ${summary.agentjet_ms} ms, Node alone ${summary.node_ms} ms; ${files.length} files, ${native.length} native libraries`,
  );
  return { summary, details: { rounds, files_by_package: countByPackage(files), native, importing, empty } };
}

function timeStart(code: string): number {
  const begin = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`Node ended with ${status} after ${JSON.stringify(code)}: ${stderr}`);
  return performance.now() - begin;
}

function toMs(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

/** Returns packages in order of their files, most files first. */
function countByPackage(files: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const file of files) {
    const name = packageOf(path.relative(root, file).replaceAll('\\', '/'));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].toSorted(([, left], [, right]) => right - left));
}

function packageOf(file: string): string {
  const installed = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(file)?.[1];
  return installed ?? /^(?:packages|adapters)\/[^/]+|^[^/]+/.exec(file)?.[0] ?? file;
}
