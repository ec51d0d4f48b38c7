import type { LedgerRules } from './rules.js';
import type { LedgerEpisode, LedgerGroup, LedgerState, Place, PlaceState } from './state.js';

/** What can be said of places and groups: pure questions to a state under the rules. */

export function placeStateOf(state: LedgerState, place: Readonly<Place>, rules: LedgerRules): PlaceState {
  const episode = place.episodeId === undefined ? undefined : state.episodes.get(place.episodeId);
  if (episode !== undefined) return episode.state === 'running' || episode.state === 'ended' ? 'taken' : 'filled';
  return place.isGivenUp || place.losses >= rules.maxAttempts ? 'given_up' : 'open';
}

/** As `placeStateOf`, but nobody tries a place of a doomed group again. */
export function seatStateOf(
  state: LedgerState,
  group: LedgerGroup,
  { place, rules }: { readonly place: Readonly<Place>; readonly rules: LedgerRules },
): PlaceState {
  const found = placeStateOf(state, place, rules);
  return found === 'open' && place.attempts > 0 && isDoomed(state, group, rules) ? 'given_up' : found;
}

/** It can no longer become trainable, and runs to its end all the same. */
const isDoomed = (state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean =>
  !rules.cutsDoomed && group.purpose === 'train' && !canBecomeTrainable(state, group, rules);

/** No place is open or taken. */
export function isClosed(state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean {
  return group.places.every((place) => {
    const found = seatStateOf(state, group, { place, rules });
    return found === 'filled' || found === 'given_up';
  });
}

/** No place is open, and no attempt runs: what is there may be scored as a whole. */
export function isSampled(state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean {
  return group.places.every((place) => {
    if (place.episodeId === undefined) return seatStateOf(state, group, { place, rules }) === 'given_up';
    return state.episodes.get(place.episodeId)?.state !== 'running';
  });
}

/** Closed, and with enough filled places for the policy. */
export function isTrainable(state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean {
  return isClosed(state, group, rules) && isEnough(countPlaces(state, group, rules).filled, group, rules);
}

/** Whether the group would be trainable if every open and taken place were filled. */
export function canBecomeTrainable(state: LedgerState, group: LedgerGroup, rules: LedgerRules): boolean {
  return isEnough(group.places.length - countPlaces(state, group, rules).given_up, group, rules);
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

/** The episodes that hold a place of the group, in the order of places. */
export function membersOf(state: LedgerState, group: LedgerGroup): LedgerEpisode[] {
  return group.places.flatMap(({ episodeId }) => {
    const episode = episodeId === undefined ? undefined : state.episodes.get(episodeId);
    return episode === undefined ? [] : [episode];
  });
}

/** Of each place that was claimed the last attempt, in the order of places: the one that holds it, or with which it was given up. */
export function lastAttemptsOf(state: LedgerState, group: LedgerGroup): LedgerEpisode[] {
  const last = new Map(attemptsOf(state, group).map((episode) => [episode.place, episode]));
  return [...last.values()].sort((a, b) => a.place - b.place);
}

/** Attempts of the group that ended and hold no place: their agents failed, or the world did, or the group was dropped. */
export function untrainedOf(state: LedgerState, group: LedgerGroup): readonly LedgerEpisode[] {
  return attemptsOf(state, group).filter((each) => each.end !== undefined && !isMember(group, each));
}

/** Whether the episode holds its place. A step of the group takes no other episodes of it. */
export const isMember = ({ places }: Readonly<LedgerGroup>, { place, episodeId }: Readonly<LedgerEpisode>): boolean =>
  places[place]?.episodeId === episodeId;

/** Evaluation first; else as they were. */
export function byUrgency(groups: readonly LedgerGroup[]): readonly LedgerGroup[] {
  if (groups.length < 2) return groups;
  const isUrgent = ({ purpose }: LedgerGroup): boolean => purpose === 'evaluation';
  return [...groups.filter(isUrgent), ...groups.filter((group) => !isUrgent(group))];
}

/** All attempts of the group that the state still has. */
export function attemptsOf(state: LedgerState, { episodeIds }: LedgerGroup): LedgerEpisode[] {
  return episodeIds.flatMap((episodeId) => state.episodes.get(episodeId) ?? []);
}

/** Under partial_group a group of one place is trainable when it is filled: two episodes cannot be asked of it. */
function isEnough(numFilled: number, { places }: LedgerGroup, rules: LedgerRules): boolean {
  if (numFilled === places.length) return true;
  if (rules.failedEpisodePolicy !== 'partial_group') return false;
  return numFilled >= 2 && numFilled / places.length >= rules.minGroupShare;
}
