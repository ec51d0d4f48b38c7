import { ConfigError, isJsonObject, type AgentJetConfig, type ConfigInput } from '@agentjet/core';

/** The settings that a job is usually made with, by the names of the original; `config` takes everything else. */
export type JobOptions = {
  readonly projectName?: string;
  readonly experimentName?: string;
  readonly experimentDir?: string;
  readonly backbone?: AgentJetConfig['backbone'];
  /** Model folder, or `nano`. */
  readonly model?: string;
  readonly algorithm?: AgentJetConfig['trainerCommon']['algorithm']['advEstimator'];
  /** Episodes per task. */
  readonly numRepeat?: number;
  /** Tasks per optimizer step. */
  readonly batchSize?: number;
  readonly maxEnvWorker?: number;
  /** Tokens, like the three below. */
  readonly maxPromptLength?: number;
  readonly maxResponseLength?: number;
  readonly maxResponseLengthInOneTurn?: number;
  readonly maxModelLen?: number;
  readonly lr?: number;
  readonly seed?: number;
  /** Anything of the configuration, in camelCase; the options above go before it. */
  readonly config?: ConfigInput;
};

type Mutable = Record<string, unknown>;

const paths: Readonly<Record<Exclude<keyof JobOptions, 'config'>, string>> = {
  projectName: 'projectName',
  experimentName: 'experimentName',
  experimentDir: 'experimentDir',
  backbone: 'backbone',
  model: 'model.path',
  algorithm: 'trainerCommon.algorithm.advEstimator',
  numRepeat: 'rollout.numRepeat',
  batchSize: 'data.trainBatchSize',
  maxEnvWorker: 'rollout.maxEnvWorker',
  maxPromptLength: 'data.maxPromptLength',
  maxResponseLength: 'data.maxResponseLength',
  maxResponseLengthInOneTurn: 'rollout.maxResponseLengthInOneTurn',
  maxModelLen: 'rollout.maxModelLen',
  lr: 'trainerCommon.optim.lr',
  seed: 'trainerCommon.seed',
};

function setPath(target: Mutable, path: string, value: unknown): void {
  const [last = '', ...sections] = path.split('.').toReversed();
  const section = sections.toReversed().reduce<Mutable>((inner, name) => (inner[name] ??= {}) as Mutable, target);
  section[last] = value;
}

function checkObject(value: unknown, name: string): void {
  if (isJsonObject(value)) return;
  throw new ConfigError(
    'wrong_type',
    `${name} is ${JSON.stringify(value)}, but must be an object such as { model: 'nano' }.`,
  );
}

/** The part of a configuration that the options stand for. Throws ConfigError `unknown_key` or `wrong_type`. */
export function toConfigInput(given: JobOptions): ConfigInput {
  checkObject(given, 'What AgentJetJob() got');
  const { config = {}, ...options } = given;
  checkObject(config, 'The option config');
  const input = structuredClone(config) as Record<string, unknown>;
  for (const [name, value] of Object.entries(options)) {
    const path = Object.hasOwn(paths, name) ? paths[name as keyof typeof paths] : undefined;
    if (path === undefined) {
      throw new ConfigError(
        'unknown_key',
        `AgentJetJob has no option "${name}". It has ${Object.keys(paths).join(', ')}, and config for all else.`,
      );
    }
    if (value !== undefined) setPath(input, path, value);
  }
  return input as ConfigInput;
}
