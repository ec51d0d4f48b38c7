import type { Swarm } from '@agentjet/swarm-server/swarm';

/**
 * Writes episodes with calls directly into the swarm of this process, so that the store is as large as after a long
 * day.
 */
export async function fillStore(
  swarm: Swarm,
  { episodes, calls }: { readonly episodes: number; readonly calls: number },
): Promise<{ readonly filled: number }> {
  const content = { request: 'q'.repeat(400), response: 'a'.repeat(400) };
  let filled = 0;
  while (filled < episodes) {
    const claimed = await swarm.claim({
      claim_id: `fill-${filled}`,
      client: 'fill',
      life: 'fill',
      can: ['default'],
      purpose: 'any',
      revision: '',
      count: Math.min(64, episodes - filled),
      lease_seconds: 86_400,
      wait_seconds: 0,
    });
    if (claimed.episodes.length === 0)
      throw new Error(`The swarm gives no episodes: ${claimed.reason ?? 'no reason'}.`);
    await Promise.all(
      claimed.episodes.flatMap(({ episode_id }) =>
        Array.from({ length: calls }, (_none, index) => swarm.call(episode_id, `r${index}`, async () => content)),
      ),
    );
    filled += claimed.episodes.length;
  }
  return { filled };
}
