import { createRandom, type Random, type RewardedEpisode, type Sample } from '@agentjet/core';
import { createGrpo, createReinforce } from '@agentjet/trainer';
import { creditGroups } from '@agentjet/trainer/testing';
import { claimOf, endOf, type Guarded } from './open-server.js';
import type { Tally } from './tally.js';

/** The limits of the worker's key in `openGuarded`. */
const [most, names, bytes] = [1, 20, 2000];

/** Reports rewards, metrics and metadata beyond the limits of the key. Compares baselines with and without poison. */
export async function poison(server: Guarded, tally: Tally, count: number): Promise<void> {
  const random = createRandom(11);
  const episodeId = await claimOf(server, 'worker', 'a');
  const kinds = [onRewards, onTurns, onMetrics, onMetadata];
  for (let number = 0; number < count; number++) {
    const kind = kinds[number % kinds.length] ?? onRewards;
    const end = kind(random);
    const { status, body } = await endOf(server, 'worker', episodeId, end);
    const isRefused = status >= 400 && status < 500;
    tally.count(kind.name, isRefused, `${status} ${JSON.stringify({ end, body }).slice(0, 400)}`);
  }
  await endOf(server, 'worker', episodeId, { reward: 0 });
  for (let number = 0; number < count; number++) comparesBaselines(random, tally);
}

const sign = (random: Random): number => (random.int(2) === 0 ? -1 : 1);
const beyond = (random: Random): number => sign(random) * (most + 10 ** (random.int(8) - 4));

/** One of the rewards of the episode is out of bounds. */
function onRewards(random: Random): object {
  const rewards = Object.fromEntries(
    Array.from({ length: 1 + random.int(4) }, (_none, at) => [`t${at}`, random.next()]),
  );
  if (random.int(2) === 0) return { reward: beyond(random), rewards };
  return { reward: random.next(), rewards: { ...rewards, [`t${random.int(5)}`]: beyond(random) } };
}

/** Each reward is within bounds, but their sum is not. */
function onTurns(random: Random): object {
  const way = sign(random);
  const length = 2 + random.int(200);
  const value = (way * (most + 0.01 + random.next())) / length;
  const turns = Array.from({ length }, (_none, turn) => ({ agent: `a${random.int(3)}`, turn, value }));
  const opposite = { agent: 'b', turn: 0, value: -value };
  return {
    reward: (way * random.int(2) * random.next()) / 2,
    turn_rewards: random.int(2) ? turns : [...turns, opposite],
  };
}

function onMetrics(random: Random): object {
  const length = names + 1 + random.int(2000);
  const values = Object.fromEntries(Array.from({ length }, (_none, at) => [`m${random.int(1e9)}-${at}`, at]));
  return { reward: 0, [random.int(2) === 0 ? 'log_metrics' : 'parts']: values };
}

function onMetadata(random: Random): object {
  const text = 'x'.repeat(bytes + random.int(100_000));
  const list = Array.from({ length: bytes }, (_none, at) => at);
  return { reward: 0, metadata: [{ text }, { list }, { [text]: 1 }, { inner: { text } }][random.int(4)] };
}

/** Episodes without a model call must not change the advantages of other episodes, even with extreme rewards. */
function comparesBaselines(random: Random, tally: Tally): void {
  const honest = Array.from({ length: 2 + random.int(6) }, (_none, at) => episodeOf(`h${at}`, random.next(), true));
  const bad = Array.from({ length: 1 + random.int(4) }, (_none, at) =>
    episodeOf(`p${at}`, sign(random) * 10 ** random.int(7), random.int(2) === 0 ? undefined : false),
  );
  const algorithms = [
    createGrpo(),
    createGrpo({ gamma: 0.9 }),
    createReinforce(),
    createReinforce({ baseline: 'group' }),
  ];
  const algorithm = algorithms[random.int(algorithms.length)] ?? createGrpo();
  const credit = (episodes: readonly RewardedEpisode[]): string =>
    JSON.stringify(
      creditGroups(algorithm, [{ groupId: 'g', episodes }])[0]
        ?.samples.filter(({ episodeId }) => episodeId.startsWith('h'))
        .map(({ advantages }) => [...advantages]),
    );
  const [clean, poisoned] = [credit(honest), credit([...bad, ...honest])];
  tally.count('a baseline', clean === poisoned, `${algorithm.name}: ${clean} became ${poisoned}`);
}

/** `isTrained` is false if no token is trained, and undefined if the episode has no call. */
function episodeOf(episodeId: string, reward: number, isTrained: boolean | undefined): RewardedEpisode {
  const sample: Sample = {
    episodeId,
    agentName: 'a',
    targetTag: 'a',
    ids: Int32Array.of(1, 2),
    lossMask: Uint8Array.of(0, Number(isTrained ?? false)),
    logprobs: new Float32Array(2),
    policyVersions: Int32Array.of(-1, 0),
    turnIndices: Int32Array.of(-1, 0),
    advantages: new Float32Array(2),
  };
  return { episodeId, reward, samples: isTrained === undefined ? [] : [sample] };
}
