import {
  createRandom,
  deriveSeed,
  type Backbone,
  type Engine,
  type RewardedEpisode,
  type Sample,
} from '@agentjet/core';
import type { TrainingGroup } from '../loop/training-group.js';
import { adamOptions } from './adam-options.js';
import { createTinyBackbone } from './tiny-backbone.js';

/**
 * The tiny model learns this task in about ten steps. The prompt is [task mod 3], and the model should write 3 as often
 * as possible in two turns of three tokens. The reward is the share of 3s. Token 4 comes from outside between the
 * turns.
 */
export type TinyTaskOptions = {
  readonly seed: number;
  readonly numRepeat: number;
  readonly firstGroup?: number;
  readonly numGroups?: number;
};

export const tinyTaskOptimizer = adamOptions(0.05, { beta2: 0.99, maxGradNorm: 1 });

export function createTinyTaskBackbone(seed: number, takes: 'packs' | 'rows' = 'packs'): Backbone {
  return createTinyBackbone({ shape: { vocabSize: 5, width: 6 }, seed, optimizer: tinyTaskOptimizer, takes });
}

/** Samples groups on demand, in order. The same seed and weights give the same groups. */
export async function* tinyTaskGroups(
  engine: Engine,
  { seed, numRepeat, firstGroup = 0, numGroups = Infinity }: TinyTaskOptions,
): AsyncGenerator<TrainingGroup> {
  for (let task = firstGroup; task < firstGroup + numGroups; task++) {
    const groupId = `task-${String(task).padStart(4, '0')}`;
    const repeats = Array.from({ length: numRepeat }, (_, repeat) =>
      runEpisode(engine, `${groupId}-r${repeat}`, task, seed),
    );
    const episodes = await Promise.all(repeats);
    const generatedTokens = episodes
      .flatMap(({ samples }) => samples)
      .reduce((sum, { lossMask }) => sum + lossMask.filter((mask) => mask === 1).length, 0);
    const successes = episodes.filter(({ reward }) => reward > 0.5).length;
    const rewardSum = episodes.reduce((sum, { reward }) => sum + reward, 0);
    yield {
      groupId,
      episodes,
      report: {
        episodes: numRepeat,
        failedEpisodes: 0,
        successes,
        rewardSum,
        generatedTokens,
        records: episodes.map(({ episodeId }) => ({ episode_id: episodeId, task })),
      },
    };
  }
}

async function runEpisode(engine: Engine, episodeId: string, task: number, seed: number): Promise<RewardedEpisode> {
  const ids = [task % 3];
  const logprobs = [0];
  const versions = [-1];
  const random = createRandom(deriveSeed(seed, episodeId));
  for (let turn = 0; turn < 2; turn++) {
    const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 3, stopIds: [], seed: random.int(2 ** 31) };
    const completion = await engine.generate({ promptIds: Int32Array.from(ids), sampling });
    ids.push(...completion.ids, 4);
    logprobs.push(...completion.logprobs, 0);
    versions.push(...Array.from(completion.ids, () => completion.policyVersion), -1);
  }
  const generated = ids.filter((_, t) => versions[t] !== -1);
  return {
    episodeId,
    reward: generated.filter((id) => id === 3).length / generated.length,
    samples: [toSample(episodeId, ids, logprobs, versions)],
  };
}

function toSample(
  episodeId: string,
  ids: readonly number[],
  logprobs: readonly number[],
  versions: readonly number[],
): Sample {
  return {
    episodeId,
    agentName: 'tiny',
    targetTag: 'tiny',
    ids: Int32Array.from(ids),
    lossMask: Uint8Array.from(versions, (version) => (version === -1 ? 0 : 1)),
    logprobs: Float32Array.from(logprobs),
    policyVersions: Int32Array.from(versions),
    advantages: new Float32Array(ids.length),
  };
}
