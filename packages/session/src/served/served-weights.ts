import {
  BackboneError,
  type Backbone,
  type CommonConfig,
  type OptimizerOptions,
  type OptimizerOverrides,
} from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { Checkpoint, RunFolder } from '@agentjet/run-folder';
import { checkLoss, prepareBatch, type BatchSettings, type PreparedBatch, type TrainingGroup } from '@agentjet/trainer';
import type { ServedInputs } from '../inputs/served-inputs.js';
import { noteArithmetic, repeatsAsBefore } from '../policy/repeats-as-before.js';
import { openBackbone } from '../policy/open-backbone.js';
import { toEnginePolicy } from '../policy/open-policy.js';
import { keepTemplate } from '../policy/template-defaults.js';
import { rateAt } from '../training/rate-plan.js';
import { toBatchSettings, toOptimizerOptions, toRates } from '../training/train-settings.js';
import { loadCheckpoint } from '../training-run.js';
import { WholeCheckpoints } from './whole-checkpoints.js';

/** Everything but its groups that a step is computed from. Plain JSON: a server keeps it to make the step again. */
export type StepRecipe = BatchSettings & {
  readonly algorithm: string;
  readonly optimizer: OptimizerOptions;
};

/** The weights of a served run: what samples, what trains, and their checkpoints. Steps are numbered from 1; 0 is `model.path`. */
export type ServedWeights = {
  readonly policy: Policy;
  /** Whether making a step again gives the same weights to the last bit. */
  readonly repeatsExactly: boolean;
  /** The weights that were made again are the ones that sample now; `repeatsExactly` is about these from now on. */
  readonly settle: () => Promise<void>;
  /** Of optimizer steps, as samples name it. */
  readonly policyVersion: () => number;
  /** How the next step is made, with keys of the configuration changed since the start. */
  readonly recipe: (changes?: Readonly<Record<string, unknown>>) => StepRecipe;
  /** Credits, packs and divides a batch; makes nothing yet. Throws what the algorithm throws. */
  readonly prepare: (groups: readonly TrainingGroup[], recipe: StepRecipe) => PreparedBatch;
  /** The rates of the next optimizer step under a recipe: the `index`-th of its step. */
  readonly ratesOf: (recipe: StepRecipe, at: { readonly step: number; readonly index: number }) => OptimizerOverrides;
  /** Steps whose checkpoints are whole, with 0. */
  readonly checkpoints: () => Promise<readonly number[]>;
  /** Puts weights and run folder back to where they were after the step. */
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
  /** Of a user who stops while the model is being opened. */
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: (message: string) => void;
  readonly onLoad: (step: number) => Promise<void>;
};

export async function openServedWeights(options: WeightsOptions): Promise<ServedWeights> {
  const { config, inputs, modelDir, chatTokenizer, folder, signal, onLoad } = options;
  const optimizer = toOptimizerOptions(config, config.trainerCommon.totalTrainingSteps ?? 0);
  const emit = ({ message }: { readonly message?: string | undefined }): void =>
    void (message && options.onNotice(message));
  const backbone = await openBackbone(inputs.backbone, config, {
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
  return {
    policy,
    get repeatsExactly() {
      return repeats;
    },
    settle: async () => {
      await noteArithmetic(backbone, folder);
      repeats = backbone.capabilities.repeatsSeed;
    },
    policyVersion: () => backbone.policyVersion,
    recipe: (changes = {}) => ({
      ...toBatchSettings(config, inputs.algorithm),
      algorithm: inputs.algorithm.name,
      optimizer: withChanges(optimizer, changes),
    }),
    prepare: (groups, { algorithm: name, optimizer: _rates, ...settings }) => {
      requireAlgorithm(name, inputs.algorithm.name);
      return prepareBatch(groups, settings, { backbone, algorithm: inputs.algorithm });
    },
    ratesOf: ({ optimizer: options, numMiniBatches, numEpochs }, at) =>
      toRates(options, rateAt({ optimizer: options, updatesPerStep: numMiniBatches * numEpochs }, at)),
    checkpoints: async () => [0, ...(await whole.steps())],
    load: async (step) => {
      if (step === 0) requireFresh(isFresh);
      isFresh = false;
      await putBack(folder, backbone, step === 0 ? undefined : await folder.checkpoints.open(`step-${step}`));
      await onLoad(step);
    },
    save: async (step) => {
      const state = { step, policyVersion: backbone.policyVersion, groupsDrawn: 0 };
      await folder.save(backbone, state, { maxCheckpoints: 0 });
      await whole.add(step);
      await folder.writeReport();
    },
    removeCheckpoint: async (step) => {
      whole.delete(step);
      await folder.checkpoints.remove(step);
    },
    close: () => backbone.close(),
  };
}

async function putBack(folder: RunFolder, backbone: Backbone, checkpoint: Checkpoint | undefined): Promise<void> {
  if (checkpoint !== undefined) await loadCheckpoint(backbone, checkpoint);
  await folder.rewind(checkpoint?.state ?? { step: 0, policyVersion: 0, groupsDrawn: 0 });
}

function requireFresh(isFresh: boolean): void {
  if (!isFresh)
    throw new BackboneError('checkpoint', 'The weights of model.path are gone: steps were made. Open them again.');
}

function requireAlgorithm(recorded: string, configured: string): void {
  if (recorded === configured) return;
  throw new BackboneError(
    'redo_impossible',
    `A step that has to be made again was decided with the algorithm "${recorded}", and the configuration names "${configured}". Configure "${recorded}" until the server has recovered.`,
  );
}

/** Configuration keys that take effect from a step on. */
function withChanges(optimizer: OptimizerOptions, changes: Readonly<Record<string, unknown>>): OptimizerOptions {
  const { 'trainer_common.optim.lr': learningRate, 'trainer_common.optim.weight_decay': weightDecay } = changes;
  const { 'trainer_common.optim.grad_clip': maxGradNorm } = changes;
  return {
    ...optimizer,
    ...(typeof learningRate === 'number' && { learningRate }),
    ...(typeof weightDecay === 'number' && { weightDecay }),
    ...(typeof maxGradNorm === 'number' && { maxGradNorm }),
  };
}
