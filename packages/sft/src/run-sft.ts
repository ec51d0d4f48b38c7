import { toTurnRecord } from '@agentjet/context-tracker';
import { train, type TrainOutcome } from '@agentjet/run';
import { createSft, type TrainingGroup } from '@agentjet/trainer';
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
  const steps = new StepObserver(emit, { totalSteps: order.totalSteps, maxEmptySteps: null });
  const heldOut = createHeldOut(run, examples.heldOut);
  const before = config.trainerCommon.valBeforeTrain ? await heldOut.lossAt(0) : null;
  const outcome = await makeSteps(run, { examples: examples.training, order, steps, lossAt: heldOut.lossAt });
  if (outcome.status === 'failed') throw outcome.error;
  const isInterrupted = outcome.status === 'stopped';
  const after = isInterrupted ? null : await heldOut.lossAt(outcome.state.step);
  await folder.writeReport();
  const result: SftResult = {
    runDir: folder.dir,
    modelDir: (outcome.checkpoint ?? checkpoint)?.dir ?? null,
    lossBefore: before,
    lossAfter: after,
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
  await folder.log(isInterrupted ? 'stopped' : 'finished', { loss_before: before, loss_after: after });
  emit({ type: 'sft_finished', result });
  return result;
}

type Steps = {
  readonly examples: readonly Example[];
  readonly order: ExampleOrder;
  readonly steps: StepObserver;
  readonly lossAt: (step: number) => Promise<number | null>;
};

function makeSteps(run: TrainingRun, { examples, order, steps, lossAt }: Steps): Promise<TrainOutcome> {
  const { config, folder, backbone, checkpoint, signal, optimizer } = run;
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
    evaluate: async (step) => void (await lossAt(step)),
    ...(state === undefined ? {} : { start: state }),
    ...(signal === undefined ? {} : { signal }),
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
