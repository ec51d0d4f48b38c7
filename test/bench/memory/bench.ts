import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import path from 'node:path';
import { sumParts, type JsonObject } from '@agentjet/core';
import { nanoModelDir } from '@agentjet/nano';
import { createModelFolder } from '@agentjet/trainer';
import { backbones } from '@agentjet/trainer/registrations';
import { configuration } from 'agentjet';
import { type BenchOptions, type BenchResult, textOption, type OptionTexts } from '../bench.js';
import { joinMeasured, type CasePeak } from './join-measured.js';
import { memoryCases, type MemoryCase } from './memory-cases.js';

/**
 * Does the embedded backbone need as much memory as `ajet model check` says before a run? Each case is a process that
 * samples and trains three steps with random weights of a real shape, and its peak is compared with the estimate.
 * `--only 'nano|30M'` measures the cases whose name matches, and the kept result changes only in these. A case that may
 * need more than is free is left out.
 */

const root = path.resolve(import.meta.dirname, '../../..');

export const optionTexts: OptionTexts = {
  '--only <pattern>': "measures the cases whose names match, such as 'nano|30M'",
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const only = textOption(args, '--only');
  const pattern = new RegExp(only ?? '');
  const wanted = memoryCases.filter(({ name }) => pattern.test(name));
  if (wanted.length === 0) throw new Error(`--only ${only} matches no case.`);
  const [measured, leftOut]: [CasePeak[], string[]] = [[], []];
  for (const memoryCase of wanted) {
    const folder = await modelFolderOf(memoryCase);
    const predicted = await predict(memoryCase, folder);
    if (predicted > freemem()) leftOut.push(memoryCase.name);
    else measured.push(toMeasured(memoryCase, predicted, measurePeak(memoryCase, folder)));
    report(
      measured.length > 0 && leftOut.at(-1) !== memoryCase.name
        ? formatMeasured(measured.at(-1))
        : `left out: ${memoryCase.name}`,
    );
  }
  const all = only === undefined ? { measured, leftOut } : joinMeasured(readKept(), { measured, leftOut });
  const ratios = all.measured.map(({ ratio }) => ratio);
  const summary = {
    cases: all.measured.length,
    lowest_ratio: Math.min(...ratios),
    highest_ratio: Math.max(...ratios),
    left_out: all.leftOut.length,
  };
  return {
    summary,
    details: { ratio_is: 'predicted / measured', measured: all.measured, left_out_cases: all.leftOut },
  };
}

function readKept(): string | undefined {
  const file = path.join(import.meta.dirname, '../results/memory.json');
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** Returns the figure that `ajet model check` gives for the largest work of the case. */
async function predict(
  { trains, kl, groups, episodes, promptTokens, answerTokens, packTokens, loraRank, format }: MemoryCase,
  folder: string,
): Promise<number> {
  const [onnx] = backbones;
  const config = configuration.create({
    data: { trainBatchSize: groups, maxPromptLength: promptTokens, maxResponseLength: answerTokens },
    rollout: {
      numRepeat: Math.max(1, episodes),
      maxModelLen: promptTokens + answerTokens,
      maxResponseLengthInOneTurn: Math.min(answerTokens, promptTokens + answerTokens - 1),
    },
    trainerCommon: { maxPackTokens: Math.min(packTokens, promptTokens + episodes * answerTokens), useKlLoss: kl },
    lora: { rank: loraRank },
  });
  const model = JSON.parse(readFileSync(path.join(folder, 'config.json'), 'utf8')) as JsonObject;
  const estimate = await onnx.loadEstimate?.();
  if (estimate === undefined) throw new Error('The embedded backbone gives no estimate.');
  const need = estimate({ config, section: { frozenWeights: format }, model, trains, cores: 2, gpus: null });
  return need.fullPackBytes ?? sumParts(need.parts);
}

export async function modelFolderOf({ name, shape }: Pick<MemoryCase, 'name' | 'shape'>): Promise<string> {
  if (shape === null) return nanoModelDir;
  const folder = path.join(tmpdir(), `agentjet-memory-${name.split(',')[0]}`);
  if (!existsSync(folder)) await createModelFolder(folder, { config: shape, seed: 1 });
  return folder;
}

/** Returns the peak of the case's process, in bytes. */
export function measurePeak(memoryCase: MemoryCase, folder: string): number {
  const subject = path.join(import.meta.dirname, 'subject.ts');
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', subject, folder, JSON.stringify(memoryCase)],
    { cwd: root, encoding: 'utf8', env: { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.check.json') } },
  );
  if (status !== 0) throw new Error(`${memoryCase.name}: the process ended with ${status}. ${stderr.slice(-500)}`);
  const peaks = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { readonly peak: number }).peak);
  return Math.max(...peaks);
}

function toMeasured({ name }: MemoryCase, predicted: number, measured: number): CasePeak {
  return {
    case: name,
    predicted_bytes: Math.round(predicted),
    measured_bytes: measured,
    ratio: Math.round((1000 * predicted) / measured) / 1000,
  };
}

function formatMeasured(measured: CasePeak | undefined): string {
  if (measured === undefined) return '';
  const [predicted, peak] = [measured.predicted_bytes, measured.measured_bytes].map(
    (bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`,
  );
  return `${measured.case}: ${predicted} predicted, ${peak} measured, ${measured.ratio}`;
}
