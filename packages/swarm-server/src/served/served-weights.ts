import { existsSync } from 'node:fs';
import { BackboneError, type Backbone, type CommonConfig } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { Checkpoint, RunFolder } from '@agentjet/run-folder';
import { createStepWeights, type StepWeights } from '@agentjet/run';
import { checkLoss, createTokenRecording } from '@agentjet/trainer';
import type { ServedInputs } from '@agentjet/inputs';
import { toBatchSettings, toOptimizerOptions, loadCheckpoint, withoutStart } from '@agentjet/local-run';
import { noteArithmetic, repeatsAsBefore, openBackbone, toEnginePolicy, keepTemplate } from '@agentjet/models';
import { WholeCheckpoints } from './whole-checkpoints.js';

/**
 * The weights of a served run: those that sample, those that are trained, and their checkpoints. Steps are numbered
 * from 1, and step 0 is `model.path`.
 */
export type ServedWeights = StepWeights & {
  readonly policy: Policy;
  /** Aborts if the process or thread of the model has ended by itself. */
  readonly gone?: AbortSignal | undefined;
  /** Whether repeating a step gives exactly the same weights, to the last bit. */
  readonly repeatsExactly: boolean;
  /** Call it when all steps are repeated. The weights then sample, and `repeatsExactly` describes them from then on. */
  readonly settle: () => Promise<void>;
  /** The steps whose checkpoints are whole, including 0. */
  readonly checkpoints: () => Promise<readonly number[]>;
  /** Restores weights and run folder to their state after the step. */
  readonly load: (step: number) => Promise<void>;
  readonly save: (step: number) => Promise<void>;
  readonly removeCheckpoint: (step: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

type WeightsOptions = {
  readonly config: CommonConfig;
  readonly inputs: ServedInputs;
  readonly modelDir: string;
  readonly chatTokenizer: ChatTokenizer;
  readonly folder: RunFolder;
  /** Aborted when the user stops the server while the model is being opened. */
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: (message: string) => void;
  readonly onLoad: (step: number) => Promise<void>;
};

export async function openServedWeights(options: WeightsOptions): Promise<ServedWeights> {
  const { config, inputs, modelDir, chatTokenizer, folder, signal, onLoad } = options;
  const optimizer = toOptimizerOptions(config, config.trainerCommon.totalTrainingSteps ?? 0);
  const emit = ({ message }: { readonly message?: string | undefined }): void =>
    void (message && options.onNotice(message));
  const isStartLost = await lacksStart(config, folder);
  const backbone = await openBackbone(inputs.backbone, isStartLost ? withoutStart(config) : config, {
    emit: (event) => emit(event as object),
    modelDir,
    optimizer,
    runDir: folder.dir,
    signal,
  });
  try {
    checkLoss({ algorithm: inputs.algorithm, backbone, loss: toBatchSettings(config, inputs.algorithm).loss });
  } catch (error) {
    await backbone.close();
    throw error;
  }
  keepTemplate(folder, chatTokenizer);
  const policy = toEnginePolicy(config, { engine: backbone.engine, chatTokenizer });
  const whole = new WholeCheckpoints(folder.checkpoints, options.onNotice);
  let repeats = await repeatsAsBefore(backbone, folder);
  let isFresh = true; // the weights are those of model.path
  const { algorithm } = inputs;
  const recordTokens = createTokenRecording(config.trainerCommon.recordTokens, config.backbone, options.onNotice);
  const settings = toBatchSettings(config, algorithm);
  const steps = createStepWeights({ backbone, algorithm, settings, optimizer, recordTokens });
  return {
    ...steps,
    policy,
    gone: backbone.gone,
    get repeatsExactly() {
      return repeats;
    },
    settle: async () => {
      await noteArithmetic(backbone, folder);
      repeats = backbone.capabilities.repeatsSeed;
    },
    checkpoints: async () => [0, ...(await whole.steps())],
    load: async (step) => {
      if (step === 0 && isStartLost) throw lostStart(config);
      if (step === 0) requireFresh(isFresh);
      isFresh = false;
      await putBack(folder, backbone, step === 0 ? undefined : await folder.checkpoints.open(`step-${step}`));
      await onLoad(step);
    },
    save: async (step) => {
      const state = { step, policyVersion: backbone.policyVersion, groupsDrawn: 0 };
      await folder.save(backbone, state, { maxCheckpoints: 0 });
      await whole.add(step);
    },
    removeCheckpoint: async (step) => {
      whole.delete(step);
      await folder.checkpoints.remove(step);
    },
    close: () => backbone.close(),
  };
}

/** Whether `lora.adapter` is gone, and there are checkpoints, each with its adapter. */
async function lacksStart({ lora }: CommonConfig, { checkpoints }: RunFolder): Promise<boolean> {
  return lora.adapter !== null && !existsSync(lora.adapter) && (await checkpoints.steps()).length > 0;
}

const lostStart = ({ lora }: CommonConfig): BackboneError =>
  new BackboneError(
    'checkpoint',
    `The run goes back to its beginning, and the adapter ${lora.adapter} (lora.adapter) that it began with is missing. Restore this folder, or begin a new run.`,
  );

async function putBack(folder: RunFolder, backbone: Backbone, checkpoint: Checkpoint | undefined): Promise<void> {
  if (checkpoint !== undefined) await loadCheckpoint(backbone, checkpoint);
  await folder.rewind(checkpoint?.state ?? { step: 0, policyVersion: 0, groupsDrawn: 0 });
}

function requireFresh(isFresh: boolean): void {
  if (!isFresh) throw new BackboneError('checkpoint', 'Steps have changed the weights of model.path. Open them again.');
}
