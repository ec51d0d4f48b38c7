import { isAgentsFailure, Outage, type Task, type Verdict } from '@agentjet/core';
import { expect, it } from 'vitest';
import type { Episode } from '../contract.js';
import { sampledElsewhere } from '../sampling-defaults.js';
import { createJudge, type GroupContext, type GroupJudge } from '../judge.js';
import { runGroups, type GroupsOptions } from './run-groups.js';

const task = (taskId: string): Task => ({ taskId, mainQuery: '', initMessages: [], metadata: {} });

/** Ranks episodes by what the workflows returned: the best gets 1, the worst 0. */
function createRanking(
  onAsked: (outputs: readonly unknown[], context: GroupContext) => void = () => undefined,
): GroupJudge {
  return {
    judgeGroup: async (_task, outputs, context) => {
      const scores = outputs.map(({ metadata }) => Number(metadata?.['score']));
      onAsked(scores, context);
      const sorted = scores.toSorted((a, b) => a - b);
      return scores.map((score): Verdict => {
        const reward = sorted.indexOf(score) / Math.max(1, scores.length - 1);
        return { reward, isSuccess: reward === 1 };
      });
    },
  };
}

type Returned = { readonly metadata?: object; readonly reward?: number };

async function run(
  judge: GroupJudge,
  workflow: (place: number) => Promise<Returned> | Returned,
  more: Partial<GroupsOptions> = {},
): Promise<readonly (readonly Episode[])[]> {
  const groups = runGroups({
    workflow: async (_task, tuner) => (await workflow(Number(/-r(\d+)/.exec(tuner.episodeId)?.[1]))) as never,
    judge: createJudge(judge, 'The judge'),
    policy: { kind: 'chat', model: { name: 'none', generate: () => Promise.reject(new Error('no model')) } },
    sampling: sampledElsewhere,
    tasks: [task('a'), task('b')],
    numRepeat: 4,
    maxParallel: 2,
    timeoutMs: 60_000,
    seed: 1,
    ...more,
  });
  const all: (readonly Episode[])[] = [];
  for await (const { episodes } of groups) all.push(episodes);
  return all;
}

const rewardsOf = (episodes: readonly Episode[] = []): readonly unknown[] =>
  episodes.map((episode) => (episode.status === 'completed' ? episode.reward : episode.error.code));

const order = [30, 10, 40, 20];

it('is asked once for each group, even with fewer workers than places', async () => {
  const asked: unknown[] = [];
  const judge = createRanking((scores, { groupId, episodes }) =>
    asked.push([groupId, scores, episodes.map(({ episodeId }) => episodeId)]),
  );
  const groups = await run(judge, (place) => ({ metadata: { score: order[place] } }), { maxParallel: 1 });
  expect(groups.map(rewardsOf)).toEqual([
    [2 / 3, 0, 1, 1 / 3],
    [2 / 3, 0, 1, 1 / 3],
  ]);
  expect(asked).toEqual(['a', 'b'].map((id) => [id, order, [0, 1, 2, 3].map((place) => `${id}-r${place}`)]));
});

it('leaves out places that failed, and those with a reward of their workflow', async () => {
  const asked: unknown[] = [];
  const groups = await run(
    createRanking((scores) => asked.push(scores)),
    (place) => {
      if (place === 0) throw new Error('lost');
      return place === 1 ? { reward: 7 } : { metadata: { score: order[place] } };
    },
    { tasks: [task('a')] },
  );
  expect(groups.map(rewardsOf)).toEqual([['workflow_failed', 7, 1, 0]]);
  expect(asked).toEqual([[40, 20]]);
});

it('gives no rewards if it fails or returns too few verdicts', async () => {
  const failing: GroupJudge = { judgeGroup: () => Promise.reject(new Error('broken')) };
  const short: GroupJudge = { judgeGroup: () => [{ reward: 1, isSuccess: true }] };
  for (const judge of [failing, short]) {
    const [episodes = []] = await run(judge, () => ({}), { tasks: [task('a')] });
    expect(episodes.every((episode) => episode.status === 'failed' && !isAgentsFailure(episode.error))).toBe(true);
  }
});

it('is asked again for the whole group if it cannot be reached', async () => {
  let asked = 0;
  const ranking = createRanking();
  const judge: GroupJudge = {
    judgeGroup: (...given) => {
      if (++asked === 1) throw new Outage('away');
      return ranking.judgeGroup(...given);
    },
  };
  const away: string[] = [];
  const keeper = {
    begin: async () => {},
    end: () => false,
    judgeIsAway: (episodeId: string) => void away.push(episodeId),
    scorePatienceMs: null,
  };
  const groups = await run(judge, (place) => ({ metadata: { score: order[place] } }), { keeper, tasks: [task('a')] });
  expect(groups.map(rewardsOf)).toEqual([[2 / 3, 0, 1, 1 / 3]]);
  expect([asked, away.length]).toEqual([2, 4]);
});

it('is asked again if it gives no verdicts in time', async () => {
  let asked = 0;
  const ranking = createRanking();
  const judge: GroupJudge = {
    judgeGroup: (...given) => (++asked === 1 ? new Promise<never>(() => {}) : ranking.judgeGroup(...given)),
  };
  const keeper = { begin: async () => {}, end: () => false, judgeIsAway: () => {}, scorePatienceMs: null };
  const groups = await run(judge, (place) => ({ metadata: { score: order[place] } }), {
    keeper,
    tasks: [task('a')],
    timeoutMs: 200,
  });
  expect([asked, ...groups.map(rewardsOf)]).toEqual([2, [2 / 3, 0, 1, 1 / 3]]);
});

it('does not hold back a run that stops', async () => {
  const controller = new AbortController();
  const judge = createRanking();
  const groups = run(
    judge,
    (place) => {
      if (place === 3) controller.abort(new Error('stopped'));
      return place === 3 ? new Promise<never>(() => {}) : { metadata: { score: 1 } };
    },
    { signal: controller.signal, maxParallel: 8 },
  );
  expect(await groups).toEqual([]);
});

it('can be given as a class', () => {
  class Ranking {
    judgeGroup() {
      return [];
    }
  }
  expect(createJudge(Ranking, 'The judge')).toHaveProperty('judgeGroup');
});

it('gets its own copy of the task for each group', async () => {
  const shared: Task = { ...task('a'), metadata: { seen: [] } };
  const judge: GroupJudge = {
    judgeGroup: ({ metadata }, outputs) => {
      const seen = metadata['seen'] as number[];
      seen.push(1);
      return outputs.map(() => ({ reward: seen.length, isSuccess: true }));
    },
  };
  const groups = await run(judge, () => ({}), { tasks: [shared, shared] });
  expect([groups.map(rewardsOf), shared.metadata]).toEqual([
    [
      [1, 1, 1, 1],
      [1, 1, 1, 1],
    ],
    { seen: [] },
  ]);
});
