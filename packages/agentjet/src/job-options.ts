import {
  ConfigError,
  cutText,
  findNearestKey,
  isJsonObject,
  mergeJson,
  nameGivenInCode,
  nestAtKey,
  showValue,
  toCamelCase,
  type Algorithm,
  type AlgorithmRegistration,
  type Backbone,
  type BackboneRegistration,
} from '@agentjet/core';
import type { TemplateFamily } from '@agentjet/tokenizer';
import type { AgentJetConfig, ConfigInput } from './registrations.js';

/** The common settings of a job, by the names of the original AgentJet. `config` takes all other settings. */
export type JobOptions = {
  readonly projectName?: string;
  readonly experimentName?: string;
  readonly experimentDir?: string;
  /** A name, `path/file.ts->Export`, a registration, or an open backbone, which is closed when the job ends. */
  readonly backbone?: AgentJetConfig['backbone'] | BackboneRegistration | Backbone;
  /** A model folder, `nano` or `micro`. */
  readonly model?: string;
  /** How replies are parsed, if the model's chat template does not show it. */
  readonly templateFamily?: AgentJetConfig['model']['templateFamily'] | TemplateFamily;
  /** A name, `path/file.ts->Export`, a registration, or an algorithm object. */
  readonly algorithm?: AgentJetConfig['trainerCommon']['algorithm']['advEstimator'] | AlgorithmRegistration | Algorithm;
  /** The number of GPUs of this machine, for backbone torch. */
  readonly nGpu?: number;
  /** Episodes per task. */
  readonly numRepeat?: number;
  /** Tasks per optimizer step. */
  readonly batchSize?: number;
  readonly maxEnvWorker?: number;
  /** A length in tokens, as are the three options below. */
  readonly maxPromptLength?: number;
  readonly maxResponseLength?: number;
  readonly maxResponseLengthInOneTurn?: number;
  readonly maxModelLen?: number;
  /** The number of optimizer steps that a batch is divided into. */
  readonly miniBatchNum?: number;
  /** Passes over a batch. */
  readonly ppoEpochs?: number;
  readonly loraRank?: number;
  readonly loraAlpha?: number;
  readonly loraTargetModules?: 'all-linear' | readonly string[];
  /** The share of a GPU's memory that vLLM uses. */
  readonly gpuMemoryUtilization?: number;
  readonly tensorModelParallelSize?: number;
  readonly maxNumSeqs?: number;
  readonly useKlLoss?: boolean;
  readonly useKlInReward?: boolean;
  readonly lr?: number;
  readonly seed?: number;
  /** Any part of the configuration, in camelCase. The options above override it. */
  readonly config?: ConfigInput;
};

/** The values of options that cannot be written into a file. */
type GivenKinds = {
  readonly backbone?: unknown;
  readonly algorithm?: unknown;
  readonly templateFamily?: unknown;
};

type OptionName = Exclude<keyof JobOptions, 'config'>;

const paths: Readonly<Record<OptionName, string>> = {
  projectName: 'projectName',
  experimentName: 'experimentName',
  experimentDir: 'experimentDir',
  backbone: 'backbone',
  model: 'model.path',
  templateFamily: 'model.templateFamily',
  algorithm: 'trainerCommon.algorithm.advEstimator',
  nGpu: 'trainerCommon.nGpusPerNode',
  numRepeat: 'rollout.numRepeat',
  batchSize: 'data.trainBatchSize',
  maxEnvWorker: 'rollout.maxEnvWorker',
  maxPromptLength: 'data.maxPromptLength',
  maxResponseLength: 'data.maxResponseLength',
  maxResponseLengthInOneTurn: 'rollout.maxResponseLengthInOneTurn',
  maxModelLen: 'rollout.maxModelLen',
  miniBatchNum: 'trainerCommon.miniBatchNum',
  ppoEpochs: 'trainerCommon.ppoEpochs',
  loraRank: 'lora.rank',
  loraAlpha: 'lora.alpha',
  loraTargetModules: 'lora.targetModules',
  gpuMemoryUtilization: 'rollout.gpuMemoryUtilization',
  tensorModelParallelSize: 'rollout.tensorModelParallelSize',
  maxNumSeqs: 'rollout.maxNumSeqs',
  useKlLoss: 'trainerCommon.useKlLoss',
  useKlInReward: 'trainerCommon.algorithm.useKlInReward',
  lr: 'trainerCommon.optim.lr',
  seed: 'trainerCommon.seed',
};

/** Arguments of the Python AgentJet that have no effect with these values, and advice for other values. */
const original: Readonly<Record<string, { readonly plain: readonly unknown[]; readonly advice: string }>> = {
  nnodes: {
    plain: [1],
    advice:
      'Set nGpu for the GPUs of one machine, or config: { torch: { launch: "attach", numNodes } } for several machines.',
  },
  nGpuForInfer: {
    plain: [null],
    advice: 'Set config: { rollout: { name: "vllm", colocated: false, tensorModelParallelSize } }.',
  },
  logging: {
    plain: ['console'],
    advice: 'Set config: { trainerCommon: { logger } } to tensorboard, wandb or swanlab.',
  },
  baseYamlConfig: { plain: [null], advice: 'Call loadJobFromYaml(file).' },
  ensureNewExperiment: { plain: [true], advice: 'Every run has its own folder, named by its time; leave it out.' },
  swarmMode: { plain: [false], advice: 'A job trains in this process; leave it out.' },
  computeMadnessChecklist: { plain: [], advice: 'Judge odd output in the workflow or in a judge.' },
  loraLoadFormat: { plain: ['safetensors'], advice: 'Adapters are always safetensors; leave it out.' },
  layeredSummon: { plain: [true, false], advice: 'Leave it out.' },
  ulyssesSequenceParallelSize: { plain: [1], advice: 'Leave it out.' },
  ppoMaxTokenLenPerGpu: { plain: [], advice: 'Set config: { trainerCommon: { maxPackTokens } }.' },
};

function checkObject(value: unknown, name: string): void {
  if (isJsonObject(value)) return;
  throw new ConfigError(
    'wrong_type',
    `${name} is ${showValue('', value)}, but must be an object such as { model: 'nano' }.`,
  );
}

/**
 * Throws ConfigError `unknown_key`, unless this is an argument of the original that has no effect with this value. The
 * message names the replacement.
 */
function checkOriginal(name: string, value: unknown): void {
  const known = Object.hasOwn(original, name) ? original[name] : undefined;
  if (known === undefined) {
    const nearest = findNearestKey(name, Object.keys(paths));
    const repair =
      nearest === undefined
        ? `It has ${Object.keys(paths).join(', ')}, and config for all other settings.`
        : `Did you mean "${toCamelCase(nearest)}"?`;
    throw new ConfigError('unknown_key', `AgentJetJob has no option "${cutText(name)}". ${repair}`);
  }
  if (!known.plain.includes(value))
    throw new ConfigError(
      'unknown_key',
      `The option "${name}" with the value ${showValue(name, value)} has no meaning here. ${known.advice}`,
    );
}

const kindOptions = ['backbone', 'algorithm', 'templateFamily'] as const;

/** Recognizes a registration or an instance, which the configuration records by its name. */
function isGiven(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function nameOf(value: object, fallback: string): string {
  const name: unknown = Reflect.get(value, 'name');
  return typeof name === 'string' && name !== '' ? name : fallback;
}

/**
 * Converts the options to a part of the configuration and to the objects that they hold. Names may be in the original's
 * snake_case. Throws ConfigError `unknown_key` or `wrong_type`.
 */
export function toConfigInput(given: JobOptions): { readonly input: ConfigInput; readonly kinds: GivenKinds } {
  checkObject(given, 'What AgentJetJob() got');
  const { config = {}, ...options } = given;
  checkObject(config, 'The option config');
  let input: unknown = structuredClone(config);
  const kinds: Record<string, unknown> = {};
  const set = (path: string, value: unknown): void => void (input = mergeJson(input, nestAtKey(path, value)));
  for (const [written, value] of Object.entries(options)) {
    const name = toCamelCase(written);
    const path = Object.hasOwn(paths, name) ? paths[name as OptionName] : undefined;
    if (value === undefined) continue;
    if (path === undefined) checkOriginal(name, value);
    else if (kindOptions.includes(name as (typeof kindOptions)[number]) && isGiven(value)) {
      kinds[name] = value;
      set(path, nameGivenInCode(nameOf(value, name)));
    } else set(path, value);
  }
  return { input: input as ConfigInput, kinds };
}
