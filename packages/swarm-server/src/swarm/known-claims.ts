import { WireError, type ClaimRequest } from '@agentjet/swarm-wire';
import { claimIdOf, goneError, speaksFor, type ClaimKey } from './episode-answers.js';
import type { SwarmContext } from './swarm-context.js';

/**
 * Returns the running episodes of an earlier claim with this id, or undefined if the id is new. If another client or
 * another key used the claim id, the caller gets an error instead of the episodes and their keys.
 * @throws WireError `foreign_episode`, `gone` if all episodes of the claim are over
 */
export function knownClaims(
  { ledger: { state } }: SwarmContext,
  { claim_id, client }: ClaimRequest,
  key: ClaimKey | undefined,
): readonly string[] | undefined {
  const made: string[] = [];
  for (let index = 0; ; index++) {
    const claimId = claimIdOf(claim_id, index);
    const episodeId = state.claims.get(claimId) ?? state.finished.claimed(claimId);
    if (episodeId === undefined) break;
    const episode = state.episodes.get(episodeId);
    if (episode !== undefined && (episode.client !== client || !speaksFor(episode, key))) throw otherClaim(claim_id);
    made.push(episodeId);
  }
  const running = made.filter((episodeId) => state.episodes.get(episodeId)?.state === 'running');
  if (made.length > 0 && running.length === 0) throw goneError(state, made[0] ?? '');
  return made.length === 0 ? undefined : running;
}

const otherClaim = (claimId: string): WireError =>
  new WireError(
    'foreign_episode',
    `The claim id "${claimId}" was used by another client, or with another key. Choose a new random id for each claim.`,
  );
