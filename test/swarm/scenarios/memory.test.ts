import type { Swarm } from '@agentjet/swarm-server/swarm';
import { expect, it } from 'vitest';
import { Bench, claimRequest, endRequest } from './bench.js';

const numEpisodes = 50;

it('remembers every episode that has ended, and holds few of them in memory', async () => {
  const { rules } = new Bench().settings;
  const roomy = { capacity: 1000, totalEpochs: 1000, maxSteps: Infinity, numPlaces: 1 };
  const small = { rules: { ...rules, batchSize: 1 }, saveFreq: 1, keptCheckpoints: 2, maxFileEntries: 12 };
  const bench = new Bench({ ...roomy, ...small });
  const { swarm } = await bench.serve();
  const ids: string[] = [];
  for (let index = 0; index < numEpisodes; index++) {
    // Let the claim wait, because the previous step may not be made yet.
    const asked = { ...claimRequest(`c${index}`), wait_seconds: 30 };
    const { episodes } = await bench.settle(swarm.claim(asked));
    const episodeId = episodes[0]?.episode_id ?? 'none';
    await bench.settle(swarm.end(episodeId, endRequest(index)));
    ids.push(episodeId);
  }
  expect(new Set(ids).size).toBe(numEpisodes);
  expect(countHeld(swarm)).toBeLessThan(numEpisodes / 2);
  await expectMemory(bench, swarm, ids);

  const { swarm: next } = await bench.serve();
  expect(countHeld(next)).toBeLessThan(numEpisodes / 2);
  await expectMemory(bench, next, ids);
});

/** Counts all records that are kept for single groups and episodes. */
function countHeld({ context }: Swarm): number {
  const { groups, episodes, claims, finished, manifests, outcomes } = context.ledger.state;
  return groups.size + episodes.size + claims.size + finished.numHeld + manifests.size + outcomes.size;
}

/** Expects that the oldest episodes still get their answers. */
async function expectMemory(bench: Bench, swarm: Swarm, ids: readonly string[]): Promise<void> {
  for (const [index, episodeId] of [...ids.entries()].slice(0, 3)) {
    expect(await bench.settle(swarm.end(episodeId, endRequest(index)))).toMatchObject({
      state: 'trained',
      step: index + 1,
    });
    expect(await bench.codeOf(swarm.end(episodeId, endRequest(-1)))).toBe('ended_differently');
    expect(await bench.codeOf(swarm.claim(claimRequest(`c${index}`)))).toBe('gone');
  }
  expect(swarm.context.ledger.account).toMatchObject({ acknowledged: ids.length });
}
