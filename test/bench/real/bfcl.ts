import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { compareCheckers, drawCases } from '#tutorial/choose-function/agree.js';
import { type Kind, kinds } from '#tutorial/choose-function/functions.js';
import type { BenchOptions } from '../bench.js';
import { ajet, root, runNode } from '../../releases/run-node.js';
import { readBfclCoder } from './kept.js';
import type { Measured } from './measured.js';
import { readLines, round, runTraining } from './run-training.js';
import { detailsOf } from './tutorials.js';

/**
 * Tutorial choose-function on functions that were never trained: success of the untrained model, after the gold calls
 * were imitated, and after the training with rewards. All three have the same tools and example turns. The scorer is
 * compared with BFCL's own checker first.
 */

const numAnswers = 500;
const tutorial = path.join(root, 'tutorial/choose-function');
const confs = { smol: 'choose_function.yaml', coder: 'choose_function_coder.yaml' } as const;

/**
 * `--set backbone=torch` trains with another setting, and may be repeated. The details list these settings. `skipped`
 * says why the wheel that contains the data and the checker could not be downloaded.
 */
export async function measureBfcl(
  { report, args }: Pick<BenchOptions, 'report' | 'args'>,
  model: keyof typeof confs = 'smol',
): Promise<Measured> {
  const fetched = runScript('fetch-bfcl.ts');
  if (fetched.status !== 0) return { summary: { skipped: lastLine(fetched.stderr) }, details: {} };
  const { answers, same, right, differ } = compareCheckers(drawCases(numAnswers));
  report(`bfcl: the scorer agrees on ${same} of ${answers} answers`);
  const settings = args.filter((_setting, at) => args[at - 1] === '--set');
  const { summary, details } = await trainOnBfcl(path.join(tutorial, confs[model]), settings, report);
  const set = settings.length === 0 ? {} : { settings };
  return { summary: { scorer: { answers, same }, ...summary, ...set }, details: { right, differ, ...details } };
}

/**
 * The same with Qwen2.5-Coder-0.5B on a GPU. `CODER_MODEL` names its folder, as in `npm run releases`. Without it, the
 * kept figures are read.
 */
export function measureBfclCoder({ report, args }: Pick<BenchOptions, 'report' | 'args'>) {
  const model = process.env['CODER_MODEL'];
  if (!model) return readBfclCoder();
  return measureBfcl({ report, args: [...args, '--set', `model.path=${model}`] }, 'coder');
}

type Success = Readonly<Record<Kind, number>>;

async function trainOnBfcl(conf: string, settings: readonly string[], report: (line: string) => void) {
  const written = runScript('write-transcripts.ts');
  if (written.status !== 0) throw new Error(`The transcripts were not written: ${written.stderr}`);
  const scratch = mkdtempSync(path.join(tmpdir(), 'bench-bfcl-'));
  try {
    const load = loadavg()[0] ?? 0;
    const start = await runAjet<EvaluationLine>(scratch, conf, ['eval', ...settings]);
    const before = toSuccess(start.line);
    report(`bfcl: before ${JSON.stringify(before)}`);
    const places = [`experiment_dir=${path.join(scratch, 'sft')}`, 'rollout.user_workflow=null'];
    const imitation = await runAjet<{ readonly model_dir: string }>(scratch, conf, ['sft', ...settings, ...places]);
    report(`bfcl: imitated in ${imitation.minutes} minutes`);
    const overrides = [...settings, `model.path=${imitation.line.model_dir}`];
    const training = await runTraining({ conf, overrides, cwd: root, report }, readSuccess);
    const [afterSft, after] = training.found ?? [];
    if (afterSft === undefined || after === undefined)
      throw new Error('The evaluations of the training were not kept.');
    const minutes = {
      evaluation: start.minutes,
      imitation: imitation.minutes,
      training: training.minutes,
      training_with_evaluations: training.minutesInAll,
    };
    return {
      summary: bySkill({ before, afterSft, after }),
      details: {
        ...detailsOf(training),
        load: [load, ...training.load],
        minutes,
        held_out: start.line.success_by_kind,
      },
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Returns success at each stage, by kind of question. */
function bySkill({ before, afterSft, after }: Readonly<Record<'before' | 'afterSft' | 'after', Success>>) {
  return Object.fromEntries(
    kinds.map((kind) => [kind, { before: before[kind], after_sft: afterSft[kind], after: after[kind] }]),
  );
}

type EvaluationLine = { readonly success_by_kind: Readonly<Record<Kind, { readonly success: number }>> };

const toSuccess = ({ success_by_kind: byKind }: EvaluationLine): Success => ({
  simple: round(byKind.simple.success),
  multiple: round(byKind.multiple.success),
  irrelevance: round(byKind.irrelevance.success),
});

/** Returns success before and after the training with rewards. */
function readSuccess(runDir: string): readonly (Success | undefined)[] {
  const lines = readLines(path.join(runDir, 'evaluations.jsonl')).map((line) => {
    const success = (kind: Kind): number => round(Number(line[`success/${kind}`]));
    return { simple: success('simple'), multiple: success('multiple'), irrelevance: success('irrelevance') };
  });
  return [lines[0], lines.at(-1)];
}

/** Runs a command of ajet. Its last line is JSON. */
async function runAjet<Line>(scratch: string, conf: string, [command = '', ...overrides]: readonly string[]) {
  const { output, seconds } = await runNode(scratch, [ajet, command, '--conf', conf, '--json', ...overrides]);
  return { line: JSON.parse(lastLine(output)) as Line, minutes: round(seconds / 60) };
}

const runScript = (name: string) =>
  spawnSync(process.execPath, ['--import', 'tsx', path.join(tutorial, name)], { cwd: root, encoding: 'utf8' });

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
