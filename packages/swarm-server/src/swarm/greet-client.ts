import { otherKey } from './client-lives.js';
import { speaksFor, type ClaimKey } from './episode-answers.js';
import type { SwarmContext } from './swarm-context.js';

type Visitor = { readonly client: string; readonly life: string };

/**
 * Notes a request of a client. If the client has started a new life, the episodes of its old life are dropped.
 *
 * A worker key cannot act for a client of another key while that client is alive or its episodes run. A commander's key
 * can, because it may drop any episode.
 * @throws WireError `name_taken`
 */
export function greetClient(context: SwarmContext, { client, life }: Visitor, key: ClaimKey | undefined): void {
  const { ledger, lives } = context;
  requireOwnEpisodes(context, client, key);
  if (!lives.greet({ client, life, key })) return;
  const old = [...ledger.running()].filter((episode) => episode.client === client && episode.life !== life);
  for (const episode of old) {
    if (episode.state === 'running' && speaksFor(episode, key))
      ledger.drop(episode.episodeId, 'abandoned', { isCounted: false });
  }
}

/**
 * Throws WireError `name_taken` if an episode of the client runs under another key. A client that is known to use this
 * key was checked at its first request.
 */
function requireOwnEpisodes({ ledger, lives, settings }: SwarmContext, client: string, key?: ClaimKey): void {
  if (key === undefined || key.isCommander || lives.isOf(client, key.name)) return;
  for (const episode of ledger.running())
    if (episode.client === client && !speaksFor(episode, key)) throw otherKey(client, settings.aliveMs);
}
