import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export type TestRun = { readonly numTests: number; readonly failed: readonly string[] };

type VitestReport = {
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
};

/**
 * Runs test files with a mutant planted. Throws if a file could not even be loaded, because such a mutant proves
 * nothing.
 */
export async function runTests(root: string, files: readonly string[], mutant: number | undefined): Promise<TestRun> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mutants-'));
  try {
    const output = await runVitest(root, files, { report: path.join(folder, 'report.json'), mutant });
    const report = JSON.parse(
      await readFile(path.join(folder, 'report.json'), 'utf8').catch(() => fail(`vitest wrote no report:\n${output}`)),
    ) as VitestReport;
    const unloaded = report.testResults.find(({ assertionResults }) => assertionResults.length === 0);
    if (unloaded !== undefined) fail(`${unloaded.name} could not be loaded: ${unloaded.message}`);
    const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
    return {
      numTests: report.numTotalTests,
      failed: tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function runVitest(
  root: string,
  files: readonly string[],
  { report, mutant }: { readonly report: string; readonly mutant: number | undefined },
): Promise<string> {
  const program = path.join(root, 'node_modules/vitest/vitest.mjs');
  const config = path.join(import.meta.dirname, 'vitest.config.ts');
  const env = { ...process.env, ...(mutant !== undefined && { MUTANT: String(mutant) }) };
  const child = spawn(
    process.execPath,
    [program, 'run', '--config', config, '--reporter=json', `--outputFile=${report}`, ...files],
    { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => resolve(output));
  });
}

function fail(message: string): never {
  throw new Error(message);
}
