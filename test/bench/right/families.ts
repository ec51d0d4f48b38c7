import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { BenchOptions } from '../bench.js';
import { keepResult, readTree } from '../keep-result.js';

/**
 * Does the torch worker compute what a model's own code computes? It compares every model class of the library
 * transformers that opens as a causal language model with a tiny configuration. `trainer/torch/bench/families.py` makes
 * the comparison.
 */

export type FamilyResult = 'equal' | 'refused' | 'wrong' | 'failed';

type Measured = {
  readonly versions: { readonly torch: string; readonly transformers: string };
  readonly classes: Readonly<Record<string, { readonly result: FamilyResult | 'not_opened' }>>;
};

const root = path.resolve(import.meta.dirname, '../../..');
const worker = path.join(root, 'trainer/torch');
const python = process.env['AJET_TORCH_PYTHON'] ?? path.join(worker, '.venv/bin/python');
const results = path.join(import.meta.dirname, '../results');
export const keptFamilies = path.join(results, 'right-families.json');

export async function measureFamilies({
  report,
}: Pick<BenchOptions, 'report'>): Promise<Readonly<Record<string, FamilyResult>>> {
  if (!existsSync(python)) return readKept(report);
  const { versions, classes } = await compareFamilies();
  const families = Object.fromEntries(
    Object.entries(classes).flatMap(([name, { result }]) => (result === 'not_opened' ? [] : [[name, result] as const])),
  );
  const { commit, problem } = readTree(root);
  if (commit === null) report(`families: not kept, since ${problem}`);
  else keepResult(results, { name: 'right-families', commit }, { summary: { families }, details: { versions } });
  return families;
}

async function compareFamilies(): Promise<Measured> {
  const env = { ...process.env, OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '' };
  const { stdout } = await promisify(execFile)(python, ['bench/families.py'], { cwd: worker, env, maxBuffer: 2 ** 26 });
  return JSON.parse(stdout) as Measured;
}

/** Returns the kept result, which is used if PyTorch is not installed. */
function readKept(report: (line: string) => void): Readonly<Record<string, FamilyResult>> {
  const { families, date, commit } = JSON.parse(readFileSync(keptFamilies, 'utf8')) as {
    readonly families: Readonly<Record<string, FamilyResult>>;
    readonly date: string;
    readonly commit: string;
  };
  report(`families: as measured at ${commit} on ${date}; "npm run setup:torch" installs what measures them`);
  return families;
}
