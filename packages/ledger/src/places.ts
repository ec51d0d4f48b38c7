import type { LedgerRules } from './rules.js';
import type { LedgerEpisode, LedgerGroup, LedgerState, Place, PlaceState } from './state.js';

/** Pure functions that answer questions about the places and groups of a state under the rules. */

export function placeStateOf(state: LedgerState, place: Readonly<Place>, rules: LedgerRules): PlaceState {
  const episode = place.episodeId === undefined ? undefined : state.episodes.get(place.episodeId);
  if (episode !== undefined) return episode.state === 'running' || episode.state === 'ended' ? 'taken' : 'filled';
  return place.isGivenUp || place.losses >= rules.maxAttempts ? 'given_up' : 'open';
}

/** Like `placeStateOf`, but in a doomed group (see `isDoomed`) a place that was tried once counts as given up. */
export function seatStateOf(
  state: LedgerState,
  group: LedgerGroup,
  { place, rules }: { readonly place: Readonly<Place>; readonly rules: LedgerRules },
): PlaceState {
  const found = placeStateOf(state, place, rules);
  return found === 'open' && place.attempts > 0 && isDoomed(state, group, rules) ? 'given_up' : found;
}

/** Returns whether the group can no longer become trainable but still runs to its end. */
const isDoomed = (state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean =>
  !rules.cutsDoomed && group.purpose === 'train' && !canBecomeTrainable(state, group, rules);

/** Returns whether no place is open or taken. */
export function isClosed(state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean {
  return group.places.every((place) => {
    const found = seatStateOf(state, group, { place, rules });
    return found === 'filled' || found === 'given_up';
  });
}

/** Returns whether no place is open and no attempt runs, so that the group may be scored as a whole. */
export function isSampled(state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean {
  return group.places.every((place) => {
    if (place.episodeId === undefined) return seatStateOf(state, group, { place, rules }) === 'given_up';
    return state.episodes.get(place.episodeId)?.state !== 'running';
  });
}

/** Returns whether the group is closed with enough filled places for the policy. */
export function isTrainable(state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean {
  return lookAtPlaces(state, group, rules).isTrainable;
}

/** Returns whether the group would be trainable if every open and taken place were filled. */
export function canBecomeTrainable(state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean {
  return isEnough(group.places.length - countPlaces(state, group, rules).given_up, group, rules);
}

/** Returns whether a place of the group is open (see `seatStateOf`), and whether it is trainable. Looks at each place once. */
export function lookAtPlaces(
  state: LedgerState,
  group: LedgerGroup,
  rules: LedgerRules,
): { readonly isOpen: boolean; readonly isTrainable: boolean } {
  let [filled, isOpen, isTaken] = [0, false, false];
  for (const place of group.places) {
    const found = placeStateOf(state, place, rules);
    if (found === 'filled') filled++;
    else if (found === 'taken') isTaken = true;
    else if (found === 'open') isOpen ||= place.attempts === 0 || !isDoomed(state, group, rules);
  }
  return { isOpen, isTrainable: !isOpen && !isTaken && isEnough(filled, group, rules) };
}

export function countPlaces(
  state: LedgerState,
  group: LedgerGroup,
  rules: LedgerRules,
): Readonly<Record<PlaceState, number>> {
  const counts: Record<PlaceState, number> = { open: 0, taken: 0, filled: 0, given_up: 0 };
  for (const place of group.places) counts[placeStateOf(state, place, rules)]++;
  return counts;
}

/** Returns the episodes that hold a place of the group, in the order of places. */
export function membersOf(state: LedgerState, group: LedgerGroup): LedgerEpisode[] {
  return group.places.flatMap(({ episodeId }) => {
    const episode = episodeId === undefined ? undefined : state.episodes.get(episodeId);
    return episode === undefined ? [] : [episode];
  });
}

/**
 * Returns the last attempt of each claimed place, in the order of places. This attempt holds the place, or the place
 * was given up after it.
 */
export function lastAttemptsOf(state: LedgerState, group: LedgerGroup): LedgerEpisode[] {
  const last = new Map(attemptsOf(state, group).map((episode) => [episode.place, episode]));
  return [...last.values()].sort((a, b) => a.place - b.place);
}

/**
 * Returns attempts of the group that ended and hold no place: the agent failed, there was an outage, or the group was
 * dropped.
 */
export function untrainedOf(state: LedgerState, group: LedgerGroup): readonly LedgerEpisode[] {
  return attemptsOf(state, group).filter((each) => each.end !== undefined && !isMember(group, each));
}

/** Returns whether the episode holds its place. A step trains only such episodes. */
export const isMember = ({ places }: Readonly<LedgerGroup>, { place, episodeId }: Readonly<LedgerEpisode>): boolean =>
  places[place]?.episodeId === episodeId;

/** Puts evaluation groups first and keeps the order otherwise. */
export function byUrgency(groups: readonly LedgerGroup[]): readonly LedgerGroup[] {
  if (groups.length < 2) return groups;
  const isUrgent = ({ purpose }: LedgerGroup): boolean => purpose === 'evaluation';
  return [...groups.filter(isUrgent), ...groups.filter((group) => !isUrgent(group))];
}

/** Returns all attempts of the group that the state still has. */
export function attemptsOf(state: LedgerState, { episodeIds }: LedgerGroup): LedgerEpisode[] {
  return episodeIds.flatMap((episodeId) => state.episodes.get(episodeId) ?? []);
}

/**
 * Returns whether enough places of the group are filled. Under partial_group, a group with one place needs only this
 * place, because it cannot have two episodes.
 */
function isEnough(numFilled: number, { places }: LedgerGroup, rules: LedgerRules): boolean {
  if (numFilled === places.length) return true;
  if (rules.failedEpisodePolicy !== 'partial_group') return false;
  return numFilled >= 2 && numFilled / places.length >= rules.minGroupShare;
}
