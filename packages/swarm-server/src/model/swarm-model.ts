import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { RecordIndex } from '@agentjet/ledger';
import { samplingDefaults, samplingOfPlace } from '@agentjet/rollout';
import type { ServedPolicy, ServedRun } from '../served/served-run.js';
import type { ServedWeights } from '../served/served-weights.js';
import type { EpisodeAccess } from '../swarm/episode-answers.js';
import type { TrainerPort } from '../swarm/trainer-port.js';
import { EpisodeKeys } from './episode-keys.js';
import type { EpisodeHolder, ModelPort } from './model-port.js';
import { ModelTrainer, type RecordedEvent } from './model-trainer.js';
import { ReopenableWeights } from './reopenable-weights.js';
import { PolicyEpisodes, type PolicyPart } from './policy-episodes.js';
import { ServedEpisodes, type ServedEpisodesOptions } from './served-episodes.js';

/** The models of a swarm from one opening to the next. They train on the answers that the swarm's episodes got. */
export type SwarmModel = {
  /** One model for each policy. There is only `default` unless the configuration names several policies. */
  readonly trainers: readonly {
    readonly name: string;
    readonly trainer: TrainerPort;
    /** Opens a failed model again. The swarm then loads the newest checkpoint of the model. */
    readonly reopen: () => Promise<void>;
  }[];
  readonly episodes: ModelPort & EpisodeHolder;
  readonly keys: EpisodeKeys;
  /** The target tags that learn. Null means all. */
  readonly trainableTargets: readonly string[] | null;
  /** Returns the address and the key of an episode's model. The address lacks the origin of the server. */
  readonly access: (episodeId: string) => EpisodeAccess;
  readonly close: () => Promise<void>;
};

/** Opens the models of a run with the weights of `model.path`. The swarm then loads the newest checkpoints. */
export async function openSwarmModel(
  run: Pick<ServedRun, 'folder' | 'policies'>,
  records: RecordIndex,
  options: ModelOptions = {},
): Promise<SwarmModel> {
  const keys = EpisodeKeys.open(path.join(run.folder.dir, 'episode-keys.secret'));
  const models: PolicyModel[] = [];
  const close = async (): Promise<void> => {
    for (const { episodes, weights } of models) {
      episodes.closeAll();
      await weights.close();
    }
  };
  try {
    const { onNotice } = options;
    const isOne = run.policies.length === 1;
    for (const policy of run.policies) {
      const say = (message: string): void => onNotice?.(isOne ? message : `${policy.name}: ${message}`);
      models.push(await openPolicyModel(policy, records, { ...options, onNotice: say }));
    }
  } catch (error) {
    await close();
    throw error;
  }
  const [first] = models;
  if (first === undefined) throw new TypeError('A run has a policy.');
  const isOnly = models.length === 1;
  const trainableTargets = isOnly ? first.config.trainableTargets : models.flatMap(({ targets }) => targets);
  return {
    trainers: models,
    episodes: isOnly ? first.episodes : new PolicyEpisodes(models),
    keys,
    trainableTargets,
    access: (episodeId) => ({
      base_url: `/e/${episodeId}`,
      model: 'agentjet',
      key: keys.keyOf(episodeId),
      ...(trainableTargets !== null && { trainable_targets: [...trainableTargets] }),
      ...(!isOnly && { policies: Object.fromEntries(models.map(({ name, targets }) => [name, [...targets]])) }),
    }),
    close,
  };
}

type PolicyModel = PolicyPart & {
  readonly config: ServedPolicy['config'];
  readonly trainer: ModelTrainer;
  readonly weights: ServedWeights;
  readonly reopen: () => Promise<void>;
};

type ModelOptions = Pick<ServedEpisodesOptions, 'idleMs'> & {
  /** Called once when the engine of a policy is dead. */
  readonly onFailure?: (error: unknown, policy: string) => void;
  /** Called after a policy has recorded a step or an evaluation, or has saved a checkpoint. */
  readonly onRecorded?: (policy: string, event: RecordedEvent) => void;
  readonly onNotice?: (message: string) => void;
};

async function openPolicyModel(
  policy: ServedPolicy,
  records: RecordIndex,
  { onFailure, onRecorded, onNotice, ...options }: ModelOptions,
): Promise<PolicyModel> {
  const { name, config, folder } = policy;
  const reportFailure = (error: unknown): void => onFailure?.(error, name);
  const weights = await ReopenableWeights.open(policy, reportFailure);
  const episodes = new ServedEpisodes({
    records,
    ...options,
    onFailure: reportFailure,
    policy: name,
    maxCalls: config.rollout.multiTurn.maxSteps,
    episode: (purpose, place) => ({
      policy: weights.policy,
      sampling: purpose === 'train' ? samplingDefaults(config) : samplingOfPlace(config, place),
      requestSampling: purpose === 'train' ? config.rollout.requestSampling : 'honour',
    }),
  });
  const trainer = new ModelTrainer({
    policy: name,
    config,
    weights,
    folder,
    records,
    version: readVersion(),
    onRecorded: (event) => onRecorded?.(name, event),
    onNotice,
  });
  const reopen = async (): Promise<void> => {
    await weights.reopen();
    episodes.forgetAll();
  };
  return { name, config, targets: config.trainableTargets ?? [], episodes, trainer, weights, reopen };
}

function readVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as object;
  return 'version' in manifest ? String(manifest.version) : 'unknown';
}
