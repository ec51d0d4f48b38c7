import { toTurnRecord } from '@agentjet/context-tracker';
import { train, type TrainOutcome } from '@agentjet/run';
import { createSft, type TrainingGroup } from '@agentjet/trainer';
import { chooseEpochs } from './choose-epochs.js';
import { measureHeldOut } from './held-out-loss.js';
import { countImitated, toSamples, type Example } from './example.js';
import type { ExampleOrder } from './example-order.js';
import type { PreparedExamples } from './prepare-examples.js';
import { epochPrefix, recordSft, toHeldOutRecord } from './sft-records.js';
import { StepObserver, toTrainSettings, type TrainingRun } from '@agentjet/local-run';
import type { SftResult } from '@agentjet/records';

/**
 * Trains on transcripts: measures the loss on the held-out examples, trains on the training examples, and measures the
 * loss once more.
 */
export async function runSft(
  run: TrainingRun,
  { examples, order }: { readonly examples: PreparedExamples; readonly order: ExampleOrder },
): Promise<SftResult> {
  const { config, folder, emit, checkpoint } = run;
  const { modelSummary } = run;
  const plan = {
    firstStep: (checkpoint?.state.step ?? 0) + 1,
    totalSteps: order.totalSteps,
    tasksPerStep: order.batchSize,
    episodesPerTask: 1,
    unit: 'example',
  } as const;
  const about = { model: config.model.path, ...(modelSummary === undefined ? {} : { modelSummary }) };
  emit({ type: 'run_started', runDir: folder.dir, ...about, plan });
  const steps = new StepObserver(emit, { totalSteps: order.totalSteps });
  const heldOut = createHeldOut(run, examples.heldOut);
  const before = config.trainerCommon.valBeforeTrain ? await heldOut.lossAt(0) : null;
  const isAuto = config.sft.epochs === 'auto' && examples.heldOut.length > 0;
  const stepsPerEpoch = isAuto ? Math.ceil(examples.training.length / order.batchSize) : undefined;
  const outcome = await makeSteps(run, {
    examples: examples.training,
    order,
    steps,
    lossAt: heldOut.lossAt,
    stepsPerEpoch,
  });
  if (outcome.status === 'failed') throw outcome.error;
  const isInterrupted = run.signal?.aborted === true && outcome.status === 'stopped';
  const last = isInterrupted ? null : await heldOut.lossAt(outcome.state.step);
  const best = isAuto && !isInterrupted ? await findBest(run) : undefined;
  const result: SftResult = {
    runDir: folder.dir,
    modelDir: (best?.checkpoint ?? outcome.checkpoint ?? checkpoint)?.dir ?? null,
    lossBefore: before,
    lossAfter: best?.loss ?? last,
    ...(best !== undefined && { bestStep: best.checkpoint.state.step }),
    examples: examples.training.length,
    heldOutExamples: examples.heldOut.length,
    dropped: examples.dropped,
    steps: outcome.state.step,
    policyVersion: outcome.state.policyVersion,
    seconds: (performance.now() - run.startedAt) / 1000,
    secondsTraining: steps.secondsTraining,
    secondsEvaluating: heldOut.seconds(),
    isInterrupted,
  };
  await folder.log(isInterrupted ? 'stopped' : 'finished', { loss_before: before, loss_after: result.lossAfter });
  emit({ type: 'sft_finished', result });
  return result;
}

type Steps = {
  readonly examples: readonly Example[];
  readonly order: ExampleOrder;
  readonly steps: StepObserver;
  readonly lossAt: (step: number) => Promise<number | null>;
  /** The number of steps between two measurements of the held-out loss. Undefined unless this loss decides when the run ends. */
  readonly stepsPerEpoch: number | undefined;
};

/** The checkpoint with the lowest held-out loss. Undefined if no trained checkpoint has a lower loss than the start. */
async function findBest({ folder }: TrainingRun) {
  const evaluations = await folder.readEvaluations();
  const { bestStep } = chooseEpochs(evaluations);
  if (!(await folder.checkpoints.steps()).includes(bestStep)) return undefined;
  const loss = evaluations.find(({ step }) => step === bestStep)?.['held_out_loss'] ?? null;
  return { checkpoint: await folder.checkpoints.open(`step-${bestStep}`), loss };
}

async function makeSteps(run: TrainingRun, given: Steps): Promise<TrainOutcome> {
  const { examples, order, steps, lossAt, stepsPerEpoch } = given;
  const { config, folder, backbone, checkpoint, optimizer } = run;
  const enough = new AbortController();
  const signal = run.signal === undefined ? enough.signal : AbortSignal.any([run.signal, enough.signal]);
  const endIfOver = async (): Promise<void> => {
    if (stepsPerEpoch !== undefined && chooseEpochs(await folder.readEvaluations()).isOver) enough.abort();
  };
  await endIfOver(); // a resumed run may already be over
  const state = checkpoint?.state;
  const drawn = state?.groupsDrawn ?? 0;
  return train({
    ...toTrainSettings(config, createSft()),
    lengthLimit: { maxSampleTokens: Infinity, policy: 'error' }, // `sft.max_length` has already limited the examples
    backbone,
    ...recordSft({ folder, observer: steps.observer }, { size: examples.length, drawn }),
    source: () => pullExamples(examples, order, { drawn, policyVersion: () => backbone.policyVersion }),
    groupsPerStep: order.batchSize,
    maxSteps: order.totalSteps,
    optimizer,
    ...(stepsPerEpoch !== undefined && { evaluateEvery: stepsPerEpoch, saveEvery: stepsPerEpoch }),
    evaluate: async (step) => {
      await lossAt(step);
      await endIfOver();
    },
    ...(state === undefined ? {} : { start: state }),
    signal,
  });
}

async function* pullExamples(
  examples: readonly Example[],
  order: ExampleOrder,
  { drawn, policyVersion }: { readonly drawn: number; readonly policyVersion: () => number },
): AsyncGenerator<TrainingGroup> {
  for (const { epoch, index, example: at } of order.draws(drawn)) {
    const example = examples[at];
    if (example === undefined) throw new Error('The order names an example that does not exist.');
    const episodeId = `${epochPrefix(epoch)}${example.id}`;
    const { reward } = example;
    yield {
      groupId: episodeId,
      episodes: [{ episodeId, reward: reward ?? 0, samples: toSamples(example, episodeId, policyVersion()) }],
      draw: { epoch, index },
      report: {
        episodes: 1,
        failedEpisodes: 0,
        successes: 0,
        rewardSum: 0,
        generatedTokens: 0,
        records: [toRecord(example, episodeId)],
      },
    };
  }
}

/** Returns the line of an example in episodes/. */
function toRecord(example: Example, episodeId: string) {
  const imitated = countImitated(example);
  const { reward, place, turns } = example;
  return {
    episode_id: episodeId,
    status: 'completed',
    reward,
    place,
    generated_tokens: imitated,
    trained_tokens: imitated,
    turns: turns.map(toTurnRecord),
  };
}

/**
 * Measures the loss on the held-out examples. The loss after a step is measured once and written to the run folder,
 * where a resumed run finds it.
 */
function createHeldOut({ backbone, folder, emit, signal }: TrainingRun, examples: readonly Example[]) {
  let seconds = 0;
  const measure = async (step: number): Promise<number | null> => {
    const found = await measureHeldOut(backbone, examples, { step, signal });
    if (found === undefined) return null;
    seconds += found.seconds;
    await folder.recordEvaluation(toHeldOutRecord(found));
    emit({ type: 'held_out', heldOut: found });
    return found.loss;
  };
  return {
    seconds: () => seconds,
    lossAt: async (step: number): Promise<number | null> => {
      if (examples.length === 0) return null;
      const earlier = (await folder.readEvaluations()).find((record) => record.step === step);
      return earlier?.['held_out_loss'] ?? measure(step);
    },
  };
}
