import { TaskError, type CommonConfig, type Task } from '@agentjet/core';
import { createSft } from '@agentjet/trainer';
import type { TaskReader } from '@agentjet/rollout';
import type { JobListener, SftResult } from '@agentjet/records';
import { collectTasks, type JobInputs } from '@agentjet/inputs';
import { withAutoSettings, findRun, withTrainingRun } from '@agentjet/local-run';
import { loadModelTokenizer, prepareModel, requireOnePolicy, withPacks } from '@agentjet/models';
import { countEpochs } from './choose-epochs.js';
import { createExampleOrder } from './example-order.js';
import { prepareExamples } from './prepare-examples.js';
import { describeEqualRows, findEqualRows, imitatedTokens } from './equal-rows.js';
import { findTranscripts, readTranscripts } from './read-transcripts.js';
import { runSft } from './run-sft.js';
import { checkReport, describeExamples, writeReport } from './sft-report.js';

export type SftInputs = Pick<JobInputs, 'backbone' | 'templateFamily' | 'composition'> & {
  /** Undefined if the configuration names no tasks. */
  readonly reader: TaskReader | undefined;
};

export type SftParts = {
  readonly inputs: SftInputs;
  readonly onEvent: JobListener;
  readonly resume?: boolean | string;
  readonly from?: string;
  readonly signal?: AbortSignal;
};

/** Trains the model to answer like the transcripts of `sft.transcripts`. Everything is written into a run folder. */
export async function imitate(given: CommonConfig, parts: SftParts): Promise<SftResult> {
  requireOnePolicy(given, {
    does: 'this command trains one model',
    repair: 'Remove swarm.policies for it, and then name the resulting folder in model.path of a policy.',
  });
  const startedAt = performance.now();
  const { inputs, onEvent: emit, signal, resume = false, from } = parts;
  await findTranscripts(given); // a missing file is found before the model is downloaded and its memory is judged
  const model = await prepareModel(given, inputs.backbone, { emit, signal, trains: true });
  const { modelDir } = model;
  const onNotice = (message: string): void => emit({ type: 'notice', message });
  const runDir = resume === false ? undefined : await findRun(given, resume);
  const config = withAutoSettings(withPacks(given, model), {
    model,
    composition: inputs.composition,
    runDir,
    onNotice,
  });
  const chatTokenizer = await loadModelTokenizer(modelDir, { ...inputs, onNotice }, config);
  const { transcripts, sources } = await readTranscripts(config, { modelDir, chatTokenizer });
  const examples = await prepareExamples(transcripts, {
    config,
    replay: {
      chatTokenizer,
      historyPolicy: config.contextTracker.historyPolicy,
      specialTokensInText: config.rollout.specialTokensInText,
    },
    evaluationTasks: await readEvaluationTasks(inputs.reader),
    signal,
  });
  emit({ type: 'notice', message: describeExamples(examples) });
  if (inputs.backbone.readsWeights !== false) {
    const equal = await findEqualRows(modelDir, imitatedTokens(examples.training));
    const texts = equal.map((ids) => ids.map((id) => chatTokenizer.tokenizer.decode([id])));
    if (texts.length > 0) onNotice(describeEqualRows(texts));
  }
  if (runDir !== undefined) await checkReport(runDir, examples, config);
  const { batchSize } = config.sft;
  const epochs = countEpochs(config.sft, examples.heldOut.length);
  const order = createExampleOrder(examples.training.length, { batchSize, epochs, seed: config.trainerCommon.seed });
  const shared = { inputs: { ...inputs, algorithm: createSft() }, emit, resume, from, signal };
  const opened = { ...shared, model, chatTokenizer, startedAt, totalSteps: order.totalSteps };
  return withTrainingRun(config, opened, async (run) => {
    await writeReport(run.folder.dir, sources, examples);
    return runSft(run, { examples, order });
  });
}

async function readEvaluationTasks(reader: TaskReader | undefined): Promise<readonly Task[]> {
  if (reader === undefined) return [];
  try {
    return await collectTasks(reader.evaluationTasks(), null);
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    throw new TaskError(
      error.code,
      `The evaluation tasks of task_reader must be known, so that none of them is trained: ${error.message}`,
      { cause: error },
    );
  } finally {
    await reader.environment?.close?.();
  }
}
