import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { RecordIndex } from '@agentjet/ledger';
import { evaluationSampling, samplingDefaults, type ServedRun } from '@agentjet/session/served';
import type { EpisodeAccess } from '../swarm/episode-answers.js';
import type { TrainerPort } from '../swarm/trainer-port.js';
import { EpisodeKeys } from './episode-keys.js';
import { ModelTrainer } from './model-trainer.js';
import { ServedEpisodes, type ServedEpisodesOptions } from './served-episodes.js';

/** The model of one life of a swarm: it trains on what its episodes were answered. */
export type SwarmModel = {
  readonly trainer: TrainerPort;
  readonly episodes: ServedEpisodes;
  readonly keys: EpisodeKeys;
  /** Target tags that learn; null: all do. */
  readonly trainableTargets: readonly string[] | null;
  /** Of an episode; the address lacks the origin of the server. */
  readonly access: (episodeId: string) => EpisodeAccess;
  readonly close: () => Promise<void>;
};

/**
 * Opens the model of a run, with the weights of `model.path`; the swarm loads the newest checkpoint.
 */
export async function openSwarmModel(
  run: ServedRun,
  records: RecordIndex,
  options: Pick<ServedEpisodesOptions, 'onFailure' | 'idleMs'> = {},
): Promise<SwarmModel> {
  const { config, folder } = run;
  const keys = EpisodeKeys.open(path.join(folder.dir, 'episode-keys.secret'));
  const weights = await run.openWeights();
  const episodes = new ServedEpisodes({
    records,
    ...options,
    maxCalls: config.rollout.multiTurn.maxSteps,
    episode: (purpose) => ({
      policy: weights.policy,
      sampling: purpose === 'train' ? samplingDefaults(config) : evaluationSampling(config),
      requestSampling: purpose === 'train' ? config.rollout.requestSampling : 'honour',
    }),
  });
  const trainer = new ModelTrainer({ weights, folder, records, version: readVersion() });
  return {
    trainer,
    episodes,
    keys,
    trainableTargets: config.trainableTargets,
    access: (episodeId) => ({
      base_url: `/e/${episodeId}`,
      model: 'agentjet',
      key: keys.keyOf(episodeId),
      ...(config.trainableTargets !== null && { trainable_targets: [...config.trainableTargets] }),
    }),
    close: async () => {
      episodes.closeAll();
      await weights.close();
    },
  };
}

function readVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as object;
  return 'version' in manifest ? String(manifest.version) : 'unknown';
}
