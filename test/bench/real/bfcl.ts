import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import { compareCheckers, drawCases } from '#tutorial/choose-function/agree.js';
import { type Kind, kinds } from '#tutorial/choose-function/functions.js';
import type { BenchOptions, Measured } from '../bench.js';
import type { Cell } from '../../releases/cells/cell.js';
import { chooseFunctionSmollm2 } from '../../releases/cells/gpu-cells.js';
import { prepareCell } from '../../releases/prepare-cell.js';
import { lastLine, root, runScript } from '../../releases/run-node.js';
import { readLines, round, runTraining } from './run-training.js';
import { detailsOf } from './tutorials.js';

/**
 * Tutorial choose-function with SmolLM2 on functions that were never trained: success of the untrained model, after the
 * gold calls were imitated, and after the training with rewards. All three have the same tools and example turns. The
 * scorer is compared with BFCL's own checker first. `npm run releases` measures the same on a GPU, with three seeds.
 */

const numAnswers = 500;
const seed = 1;
const modelKey = 'model.path=';

/**
 * `--set sft.epochs=1` trains with another setting, and may be repeated. The details list these settings. `skipped`
 * says why the wheel that contains the data and the checker could not be downloaded.
 */
export async function measureBfcl({ report, args }: Pick<BenchOptions, 'report' | 'args'>): Promise<Measured> {
  const settings = args.filter((_setting, at) => args[at - 1] === '--set');
  const model = settings.findLast((setting) => setting.startsWith(modelKey))?.slice(modelKey.length);
  const cell: Cell = { ...chooseFunctionSmollm2, backbone: 'onnx', overrides: settings, ...(model && { model }) };
  const scratch = mkdtempSync(path.join(tmpdir(), 'bench-bfcl-'));
  try {
    const problem = await fetchData(cell, scratch);
    if (problem !== undefined) return { summary: { skipped: problem }, details: {} };
    const { answers, same, right, differ } = compareCheckers(drawCases(numAnswers));
    report(`bfcl: the scorer agrees on ${same} of ${answers} answers`);
    const { summary, details } = await trainOnBfcl(cell, scratch, report);
    const set = settings.length === 0 ? {} : { settings };
    return { summary: { scorer: { answers, same }, ...summary, ...set }, details: { right, differ, ...details } };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Returns the reason why the data could not be fetched, or undefined. */
async function fetchData({ scripts: [fetch = ''] = [] }: Cell, scratch: string): Promise<string | undefined> {
  try {
    await runScript(scratch, fetch);
    return undefined;
  } catch (error) {
    return lastLine(toErrorMessage(error));
  }
}

type Success = Readonly<Partial<Record<Kind, number>>>;

async function trainOnBfcl(cell: Cell, scratch: string, report: (line: string) => void) {
  const load = loadavg()[0] ?? 0;
  const startedAt = performance.now();
  const { settings, stages } = await prepareCell(cell, { seed, scratch });
  const preparation = round((performance.now() - startedAt) / 60_000);
  const [imitation] = stages;
  const [before = {}, afterSft = {}] = [imitation?.kinds_before, imitation?.kinds_after];
  report(
    `bfcl: ${JSON.stringify(before)}, and ${JSON.stringify(afterSft)} after ${preparation} minutes with imitation`,
  );
  const overrides = [`trainer_common.seed=${seed}`, ...cell.overrides, ...settings];
  const training = await runTraining(
    { conf: path.join(root, cell.conf), overrides, cwd: root, report },
    readLastSuccess,
  );
  const after = training.found ?? {};
  const minutes = { preparation, training: training.minutes, training_with_evaluations: training.minutesInAll };
  return {
    summary: bySkill({ before, afterSft, after }),
    details: { ...detailsOf(training), load: [load, ...training.load], minutes },
  };
}

/** Returns success at each stage, by kind of question. */
function bySkill(stages: Readonly<Record<'before' | 'afterSft' | 'after', Success>>) {
  const at = (stage: keyof typeof stages, kind: Kind): number => {
    const success = stages[stage][kind] ?? Number.NaN;
    if (Number.isNaN(success)) throw new Error(`The evaluations did not keep the success of ${kind} questions.`);
    return round(success);
  };
  return Object.fromEntries(
    kinds.map((kind) => [
      kind,
      { before: at('before', kind), after_sft: at('afterSft', kind), after: at('after', kind) },
    ]),
  );
}

/** Returns success after the training with rewards. */
function readLastSuccess(runDir: string): Success {
  const line = readLines(path.join(runDir, 'evaluations.jsonl')).at(-1);
  return Object.fromEntries(kinds.map((kind) => [kind, Number(line?.[`success/${kind}`])]));
}
