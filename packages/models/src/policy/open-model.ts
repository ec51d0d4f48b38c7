import { composeConfig, ConfigError, isBundledModel, type JsonObject } from '@agentjet/core';
import { type Policy, type SamplingDefaults, samplingDefaults } from '@agentjet/rollout';
import { readBaseModel } from '@agentjet/trainer';
import { backbones } from '@agentjet/trainer/registrations';
import type { JobListener } from '@agentjet/records';
import type { ToolSettings } from './template-kwargs.js';
import { readTrainedKwargs, readTrainedTools } from './trained-kwargs.js';

/** Sampling settings of a model that is not trained. */
export type FrozenModelOptions = ToolSettings & {
  /** The temperature of requests that do not set it. Default: 1. With 0, sampling is greedy. */
  readonly temperature?: number;
  /** In (0, 1]. Default: 1. */
  readonly topP?: number;
  /** Default: -1, which keeps all. */
  readonly topK?: number;
  /** The maximum number of tokens of an answer. Default: 256, or less if `maxModelLen` has less room. */
  readonly maxTokens?: number;
  /** The most tokens of prompt and answer together, at most what the model allows. Default: 8192. */
  readonly maxModelLen?: number;
  /** The name of `maxModelLen` in errors. Default: `maxModelLen`. */
  readonly maxModelLenName?: string;
  /** `warn` opens a model that needs more memory than is available. `refuse`, the default, does not. */
  readonly memoryCheck?: 'refuse' | 'warn';
  /** The option that a refusal suggests to get `warn`. Default: `memoryCheck: 'warn'`. */
  readonly memoryCheckName?: string;
  /** Variables of the chat template, such as `{ enable_thinking: false }`. Default: those of the run. */
  readonly chatTemplateKwargs?: JsonObject;
  /** The seed of all sampling. Default: 42. */
  readonly seed?: number;
  /**
   * How the weights are stored: float32 (the default), float16 (half the memory) or int8 (a quarter, and faster). An
   * adapter (LoRA) is not served in int8, because the changes that it makes are smaller than the rounding.
   */
  readonly frozenWeights?: 'float32' | 'float16' | 'int8';
  /** CPU threads. Default: all cores, at most 8. */
  readonly numThreads?: number;
  /** Called with a line about each long operation: the download of a model of the Hugging Face hub. */
  readonly onNotice?: (message: string) => void;
  /**
   * If it is aborted, a download or merge ends, and opening rejects with BackboneError `aborted`. It has no effect on
   * an open model.
   */
  readonly signal?: AbortSignal | undefined;
};

/** Opens a folder as a model that only answers. An adapter (LoRA) is merged into its model. */
type OpenModel = {
  readonly policy: Policy;
  readonly sampling: SamplingDefaults;
  readonly seed: number;
  /** Aborts if the thread that computes has ended without `close`. */
  readonly gone: AbortSignal | undefined;
  close(): Promise<void>;
};

/** A model that only answers always uses the embedded backbone, which is the first in the list. */
const [embedded] = backbones;
const composition = composeConfig({
  backbones: [embedded],
});

/** The forecast of memory counts this many calls at a time, of this many tokens each. */
const [callsAtOnce, tokensOfCall] = [4, 1024];

/** Rejects with BackboneError (`bad_model_files`, `unsupported_model`), or with ConfigError for an option. */
export async function openModel(modelDir: string, options: FrozenModelOptions): Promise<OpenModel> {
  const {
    temperature = 1,
    topP = 1,
    topK = -1,
    maxModelLen = 8192,
    maxModelLenName: contextSetting = 'maxModelLen',
    maxTokens = Math.min(256, maxModelLen - 1),
    seed = 42,
    numThreads = 0,
    frozenWeights = 'float32',
    memoryCheck = 'refuse',
    memoryCheckName: override = "memoryCheck: 'warn'",
    chatTemplateKwargs,
    onNotice,
    signal,
  } = options;
  if (maxTokens >= maxModelLen)
    throw new ConfigError(
      'wrong_value',
      `maxTokens ${maxTokens} leaves no room for a prompt within maxModelLen ${maxModelLen}. Lower the one or raise the other.`,
    );
  if (frozenWeights === 'int8') await refuseAdapterInInt8(modelDir);
  const trained = await readTrainedKwargs(modelDir);
  const { tools, toolCalls } = { ...(await readTrainedTools(modelDir)), ...options };
  const kwargs = {
    ...trained,
    ...(chatTemplateKwargs !== undefined && { chatTemplateKwargs }),
    ...(tools !== undefined && { tools }),
    ...(toolCalls !== undefined && { toolCalls }),
  };
  const half = Math.floor(Math.min(maxModelLen, tokensOfCall) / 2);
  const config = composition.create({
    model: { path: modelDir, memoryCheck, ...kwargs },
    // These limits of training samples, which are not made here, only set the forecast of memory.
    data: { trainBatchSize: callsAtOnce, maxPromptLength: half, maxResponseLength: half },
    rollout: { numRepeat: 1, temperature, topP, topK, maxModelLen, maxResponseLengthInOneTurn: maxTokens },
    onnx: { numThreads, frozenWeights },
  });
  // This module is imported late, because it loads the trainer and everything that runs episodes.
  const { openUntrainedPolicy } = await import('./open-policy.js');
  const inputs = { backbone: embedded, templateFamily: undefined };
  const emit: JobListener = (event) => event.type === 'notice' && onNotice?.(event.message);
  const { policy, health, close } = await openUntrainedPolicy(config, inputs, { emit, signal, override });
  return {
    policy: policy.kind === 'engine' ? { ...policy, contextSetting } : policy,
    sampling: samplingDefaults(config),
    seed,
    gone: health?.gone,
    close,
  };
}

async function refuseAdapterInInt8(modelDir: string): Promise<void> {
  const base = isBundledModel(modelDir) ? undefined : await readBaseModel(modelDir);
  if (base === undefined) return;
  throw new ConfigError(
    'conflict',
    `${modelDir} is an adapter (LoRA) of ${base}. It would be merged into its model, and the changes that it makes are smaller than the rounding to int8. Use float16, or leave out frozenWeights (--frozen-weights).`,
  );
}
