import { LedgerError } from './ledger-error.js';
import { attemptsOf } from './places.js';
import type { LedgerGroup, LedgerState } from './state.js';

/**
 * Removes a finished group and its attempts from the state. With the last group of a manifest, removes the manifest
 * too. Throws LedgerError `group_over` for a group that is not over.
 */
export function forgetGroup(state: LedgerState, group: LedgerGroup, onEpisode: (episodeId: string) => void): void {
  if (group.fate === undefined || group.fate === 'assigned')
    throw new LedgerError('group_over', `Group "${group.groupId}" is not over yet; it cannot be forgotten.`);
  for (const { episodeId, claimId } of attemptsOf(state, group)) {
    onEpisode(episodeId);
    state.episodes.delete(episodeId);
    state.claims.delete(claimId);
  }
  state.groups.delete(group.groupId);
  const manifest = group.step === undefined ? undefined : state.manifests.get(group.step);
  if (manifest === undefined || manifest.groups.some((each) => state.groups.has(each.groupId))) return;
  state.manifests.delete(manifest.step);
  state.outcomes.delete(manifest.step);
}
