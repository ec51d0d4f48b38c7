import type { HeartbeatAnswer, HeartbeatRequest } from '@agentjet/swarm-wire';
import { goneError, reasonOf, speaksFor, type ClaimKey } from './episode-answers.js';
import { greetClient } from './greet-client.js';
import type { SwarmContext } from './swarm-context.js';

/** Renews the leases of the client's running episodes that were claimed with this key. */
export async function acceptHeartbeat(
  context: SwarmContext,
  { client, life, episodes, leaving, asks_after }: HeartbeatRequest,
  key: ClaimKey | undefined,
): Promise<HeartbeatAnswer> {
  const { ledger, lives, changes, store, settings } = context;
  greetClient(context, { client, life }, key);
  if (leaving) return leave(context, { client, life }, key);
  if (asks_after !== undefined) {
    lives.noteAgreement(client, asks_after);
    changes.notify();
  }
  const renewed: string[] = [];
  const gone: { episode_id: string; reason: string }[] = [];
  for (const id of episodes) {
    const episode = ledger.state.episodes.get(id);
    if (episode?.state === 'running' && episode.client === client && speaksFor(episode, key)) {
      ledger.renew(id, settings.leaseMs);
      renewed.push(id);
    } else if (episode === undefined || episode.state === 'dropped') {
      gone.push({ episode_id: id, reason: reasonOf(ledger.state, id) });
    }
  }
  if (gone.length > 0 && !(await store.isOwner())) throw goneError(ledger.state, gone[0]?.episode_id ?? '');
  return { renewed, gone };
}

/** Drops the client's running episodes, so that other clients can claim their places, and frees its name. */
async function leave(
  { ledger, lives, writer }: SwarmContext,
  { client, life }: { readonly client: string; readonly life: string },
  key: ClaimKey | undefined,
): Promise<HeartbeatAnswer> {
  lives.leave(client, life);
  const left = [...ledger.running()].filter(
    (episode) => episode.client === client && episode.life === life && speaksFor(episode, key),
  );
  for (const { episodeId } of left)
    if (ledger.episode(episodeId).state === 'running') ledger.drop(episodeId, 'abandoned', { isCounted: false });
  await writer.committed();
  return { renewed: [], gone: left.map(({ episodeId }) => ({ episode_id: episodeId, reason: 'abandoned' })) };
}
