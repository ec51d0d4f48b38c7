/**
 * How much of a run survives outages? At 0%, 8% and 30% random outages, it measures the fraction of planned episodes
 * that reached an optimizer step, and the tokens that were sampled in vain. It also checks that a run continues by
 * itself after a total outage. The engine is scripted and every group has different rewards, so an episode is missing
 * only because of an outage.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { openRunFolder } from '@agentjet/run-folder';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { AgentJetJob, type JobEvent } from 'agentjet';
import { writeTinyModel } from '../../e2e/support/tiny-model.js';
import { numberOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';
import { createFlakyWorld, type FlakyWorld } from './flaky-world.js';
import { createStillBackbone } from './still-backbone.js';

const batchSize = 16;
const numRepeat = 8;
const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('chatml'));

type RunFigures = {
  /** The fraction of planned episodes that reached an optimizer step. */
  readonly filledShare: number;
  /** Tokens of attempts that were lost to outages, divided by all sampled tokens. */
  readonly wastedShare: number;
  /** Episodes that were trained although they were lost to an outage. */
  readonly outagesTrained: number;
  readonly outages: number;
  readonly steps: number;
};

type Traced = { readonly onEvent?: (event: JobEvent) => void };

async function runJob(world: FlakyWorld, numSteps: number, { onEvent = () => {} }: Traced = {}): Promise<RunFigures> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'faults-'));
  try {
    const modelDir = await writeTinyModel(path.join(scratch, 'model'));
    const engine = createScriptedEngine({ chatTokenizer, replies: ['An answer of several words, as usual.'] });
    const tasks = Array.from({ length: batchSize * numSteps }, (_, index) => ({
      taskId: `t${index}`,
      mainQuery: `Question ${index}`,
    }));
    const job = new AgentJetJob({
      backbone: createStillBackbone(engine, modelDir),
      model: modelDir,
      experimentName: 'faults',
      experimentDir: scratch,
      numRepeat,
      batchSize,
      maxModelLen: 512,
      maxPromptLength: 256,
      maxResponseLength: 256,
      config: { trainerCommon: { valBeforeTrain: false, saveFreq: 0, totalTrainingSteps: numSteps } },
    })
      .setWorkflow(world.workflow)
      .setData({ training: tasks });
    await job.tune({ onEvent });
    return await readFigures(path.join(scratch, 'faults'), world, numSteps);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function readFigures(experiment: string, world: FlakyWorld, numSteps: number): Promise<RunFigures> {
  const [name = ''] = await readdir(experiment);
  const run = await openRunFolder(path.join(experiment, name));
  const metrics = await run.readMetrics();
  const total = (key: string): number => metrics.reduce((sum, step) => sum + (step[key] ?? 0), 0);
  let trained = 0;
  let outagesTrained = 0;
  for (const step of await run.episodes.steps()) {
    for (const { samples, status } of await run.episodes.readStep(step)) {
      if (!samples.some(({ advantages }) => advantages.some((advantage) => advantage !== 0))) continue;
      trained++;
      if (status !== 'completed') outagesTrained++;
    }
  }
  return {
    filledShare: trained / (numSteps * batchSize * numRepeat),
    wastedShare: total('outage_tokens') / total('generated_tokens'),
    outagesTrained,
    outages: world.outages,
    steps: metrics.length,
  };
}

/** Makes everything fail for some seconds from the second step on. The run must pause and continue by itself. */
async function runThroughOutage(seconds: number, seed: number) {
  const world = createFlakyWorld(0, seed);
  let pausedAt: number | undefined;
  let pausedSeconds = 0;
  const onEvent = (event: JobEvent): void => {
    if (event.type === 'step_finished' && event.step === 1) {
      world.isDown = true;
      setTimeout(() => (world.isDown = false), seconds * 1000);
    }
    if (event.type !== 'notice') return;
    if (event.message.startsWith('Paused')) pausedAt = performance.now();
    if (event.message.startsWith('The world is back') && pausedAt !== undefined)
      pausedSeconds += (performance.now() - pausedAt) / 1000;
  };
  const figures = await runJob(world, 3, { onEvent });
  return { ...figures, pausedSeconds, wentOn: pausedSeconds > 0 && figures.steps === 3 && figures.filledShare === 1 };
}

const round = (value: number): number => Math.round(value * 1e4) / 1e4;

export const optionTexts: OptionTexts = { '--steps <n>': 'steps of each run; default 10', '--seed <n>': 'default 1' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const steps = numberOption(args, '--steps', 10);
  const seed = numberOption(args, '--seed', 1);
  const shares: Record<string, RunFigures> = {};
  for (const percent of [0, 8, 30]) {
    const figures = await runJob(createFlakyWorld(percent / 100, seed), steps);
    shares[percent] = figures;
    report(
      `${percent}% outages: ${figures.outages} attempts lost, filled ${figures.filledShare.toFixed(3)}, wasted ${figures.wastedShare.toFixed(3)}`,
    );
  }
  const total = await runThroughOutage(5, seed);
  report(
    `total outage of 5 s: paused ${total.pausedSeconds.toFixed(1)} s, ${total.wentOn ? 'continued' : 'did not continue'}`,
  );
  const each = (of: (figures: RunFigures) => number): Record<string, number> =>
    Object.fromEntries(Object.entries(shares).map(([percent, figures]) => [percent, round(of(figures))]));
  return {
    summary: {
      filled_share: each(({ filledShare }) => filledShare),
      wasted_tokens_share: each(({ wastedShare }) => wastedShare),
      outages_trained: [...Object.values(shares), total].reduce((sum, { outagesTrained }) => sum + outagesTrained, 0),
      paused_seconds: round(total.pausedSeconds),
      went_on: total.wentOn,
    },
    details: { steps, batch_size: batchSize, num_repeat: numRepeat, seed, outages: each(({ outages }) => outages) },
  };
}
