import {
  createRandom,
  deriveSeed,
  type Backbone,
  type Engine,
  type RewardedEpisode,
  type Sample,
} from '@agentjet/core';
import type { TrainingGroup } from '@agentjet/trainer';
import { createTinyBackbone, adamOptions } from '@agentjet/trainer/testing';

/**
 * A task in which every part of the training matters. The model answers each of four cues (ids 0 to 3) with one token,
 * and one of four (ids 4 to 7) is right. Answers have one token, so a mask that is off by one changes the result. There
 * are four cues, so a batch that lost its groups also changes the result. An episode has three cues, and its reward is
 * the share of right answers, 0..1.
 */

const numCues = 4;
const numTurns = 3;

export function createCueBackbone(seed: number): Backbone {
  return createTinyBackbone({
    shape: { vocabSize: 2 * numCues, width: 8 },
    seed,
    optimizer: adamOptions(0.03, { beta2: 0.99, maxGradNorm: 1 }),
  });
}

const rightAnswer = (cue: number): number => numCues + ((cue + 1) % numCues);

/** Makes groups without end. The same seed and weights give the same groups. */
export async function* cueGroups(
  engine: Engine,
  { seed, numRepeat }: { readonly seed: number; readonly numRepeat: number },
): AsyncGenerator<TrainingGroup> {
  for (let task = 0; ; task++) {
    const groupId = `task-${String(task).padStart(4, '0')}`;
    const random = createRandom(deriveSeed(seed, groupId));
    const cues = Array.from({ length: numTurns }, () => random.int(numCues));
    const episodes = await Promise.all(
      Array.from({ length: numRepeat }, (_, repeat) => runEpisode(engine, `${groupId}-r${repeat}`, cues, seed)),
    );
    yield {
      groupId,
      episodes,
      report: {
        episodes: numRepeat,
        failedEpisodes: 0,
        successes: episodes.filter(({ reward }) => reward === 1).length,
        rewardSum: episodes.reduce((sum, { reward }) => sum + reward, 0),
        generatedTokens: numRepeat * numTurns,
        records: episodes.map(({ episodeId }) => ({ episode_id: episodeId, task })),
      },
    };
  }
}

async function runEpisode(
  engine: Engine,
  episodeId: string,
  cues: readonly number[],
  seed: number,
): Promise<RewardedEpisode> {
  const random = createRandom(deriveSeed(seed, episodeId));
  const row: { readonly id: number; readonly logprob: number; readonly version: number }[] = [];
  let right = 0;
  for (const cue of cues) {
    row.push({ id: cue, logprob: 0, version: -1 });
    const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 1, stopIds: [], seed: random.int(2 ** 31) };
    const promptIds = Int32Array.from(row, ({ id }) => id);
    const { ids, logprobs, policyVersion } = await engine.generate({ promptIds, sampling });
    if (ids[0] === rightAnswer(cue)) right++;
    row.push({ id: ids[0] ?? 0, logprob: logprobs[0] ?? 0, version: policyVersion });
  }
  const sample: Sample = {
    episodeId,
    agentName: 'cues',
    targetTag: 'cues',
    ids: Int32Array.from(row, ({ id }) => id),
    lossMask: Uint8Array.from(row, ({ version }) => (version === -1 ? 0 : 1)),
    logprobs: Float32Array.from(row, ({ logprob }) => logprob),
    policyVersions: Int32Array.from(row, ({ version }) => version),
    advantages: new Float32Array(row.length),
  };
  return { episodeId, reward: right / cues.length, samples: [sample] };
}
