import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { downloadWheel, unpackFile } from '@agentjet/model-hub';

/**
 * `npx tsx tutorial/choose-function/fetch-bfcl.ts` gets the public data of BFCL (Apache 2.0) with your own pip: the wheel
 * `bfcl-eval`, without its dependencies. Its data files and its checker are unpacked, and nothing is installed.
 */

const wheel = {
  package: 'bfcl-eval',
  version: '2026.3.23',
  sha256: '3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a',
};

export const dataDir = path.join(import.meta.dirname, 'data');

/** The files of the wheel and where they are kept. */
const files = {
  'bfcl_eval/data/BFCL_v4_simple_python.json': 'simple.jsonl',
  'bfcl_eval/data/BFCL_v4_multiple.json': 'multiple.jsonl',
  'bfcl_eval/data/BFCL_v4_irrelevance.json': 'irrelevance.jsonl',
  'bfcl_eval/data/possible_answer/BFCL_v4_simple_python.json': 'simple-answers.jsonl',
  'bfcl_eval/data/possible_answer/BFCL_v4_multiple.json': 'multiple-answers.jsonl',
  'bfcl_eval/eval_checker/ast_eval/ast_checker.py': 'ast_checker.py',
} as const;

/** Downloads nothing if all files are there. */
async function fetchBfcl(): Promise<void> {
  if (Object.values(files).every((name) => existsSync(path.join(dataDir, name)))) return;
  const scratch = mkdtempSync(path.join(tmpdir(), 'bfcl-'));
  try {
    const archive = await downloadWheel(wheel, scratch);
    mkdirSync(dataDir, { recursive: true });
    for (const [name, target] of Object.entries(files))
      await unpackFile(archive, { name, target: path.join(dataDir, target) });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  await fetchBfcl();
  console.log(`${dataDir}: ${Object.values(files).join(', ')}`);
}
