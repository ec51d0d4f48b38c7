import { applyEnd, applyScore, dropEpisode, requireEpisode, findGroup, requireRecord } from './fold-episodes.js';
import {
  applyEvaluation,
  applyManifest,
  applyOutcome,
  applyPartDropped,
  applyRewound,
  drawState,
} from './fold-steps.js';
import { lineOf, policiesOf } from './policies.js';
import type {
  CallRecord,
  ClaimRecord,
  FinishedRecord,
  GiveUpRecord,
  GroupDroppedRecord,
  GroupRecord,
  LedgerRecord,
} from './records.js';
import { defaultShare } from './shares.js';
import { applyTask } from './task-tables.js';
import {
  createState,
  scheduleOf,
  type DrawState,
  type LedgerEpisode,
  type LedgerState,
  type PolicyLine,
} from './state.js';

/**
 * Folds records into a state. Folding is pure: the same records give the same state, independently of time, machine and
 * configuration. A record that contradicts earlier records throws LedgerError `broken_record`.
 */

/**
 * Returns the state of a whole store. All `finished` records are applied first, because an old file may still have
 * records of a group that is finished in a later file. These old records must change nothing.
 */
export function foldRecords(records: Iterable<LedgerRecord>): LedgerState {
  const state = createState();
  const all = [...records];
  for (const record of all) if (record.kind === 'finished') applyRecord(state, record);
  for (const record of all) if (record.kind !== 'finished') applyRecord(state, record);
  return state;
}

/** Returns whether the group is finished. It looks in `groups` first, because most requested groups are open. */
const isFinished = ({ groups, finished }: LedgerState, groupId: string): boolean =>
  !groups.has(groupId) && finished.has(groupId);

/** Applies the record to the state. */
export function applyRecord(state: LedgerState, record: LedgerRecord): void {
  if (record.kind !== 'finished' && 'groupId' in record && isFinished(state, record.groupId)) return;
  switch (record.kind) {
    case 'group':
      return applyGroup(state, record);
    case 'claim':
      return applyClaim(state, record);
    case 'call':
      return applyCall(state, record);
    case 'memo':
      return;
    case 'end':
      return applyEnd(state, record);
    case 'score':
      return applyScore(state, record);
    case 'drop':
      return dropEpisode(state, requireEpisode(state, record.episodeId), record);
    case 'give_up':
      return applyGiveUp(state, record);
    case 'group_dropped':
      return applyGroupDropped(state, record);
    case 'manifest':
      return applyManifest(state, record);
    case 'outcome':
      return applyOutcome(state, record);
    case 'evaluation':
      return applyEvaluation(state, record);
    case 'part_dropped':
      return applyPartDropped(state, record);
    case 'rewound':
      return applyRewound(state, record);
    case 'finished':
      return applyFinished(state, record);
    default:
      return applySetting(state, record);
  }
}

type SettingRecord = Extract<
  LedgerRecord,
  { readonly kind: 'checkpoint' | 'incarnation' | 'recovered' | 'operation' | 'config' | 'task' | 'key' | 'audit' }
>;

/** Applies records about the run as a whole. The newest record of a kind replaces the earlier ones. */
function applySetting(state: LedgerState, record: SettingRecord): void {
  switch (record.kind) {
    case 'checkpoint':
      return applyCheckpoint(lineOf(state, record.policy), record.step);
    case 'incarnation':
      return raiseIncarnation(lineOf(state, record.policy), record.value);
    case 'recovered':
      state.bootId = record.bootId;
      return;
    case 'operation':
      state.operationIds.set(record.requestId, record.order);
      state.operation = record;
      return;
    case 'config':
      state.configs.push(record);
      return;
    case 'task':
      return applyTask(state, record);
    case 'audit':
      state.audit.push(record);
      return;
    case 'key':
      if (record.content === null) state.keys.delete(record.name);
      else state.keys.set(record.name, record);
  }
}

function applyCheckpoint(line: PolicyLine, step: number): void {
  line.checkpoints.add(step);
  line.step = Math.max(line.step, step);
  line.highestStep = Math.max(line.highestStep, step);
}

function raiseIncarnation(line: PolicyLine, value: number): void {
  line.incarnation = Math.max(line.incarnation, value);
}

function applyGroup(state: LedgerState, record: GroupRecord): void {
  requireRecord(!state.groups.has(record.groupId), `group "${record.groupId}" was made twice`);
  const places = Array.from({ length: record.numPlaces }, () => ({
    attempts: 0,
    losses: 0,
    isGivenUp: false,
    episodeId: undefined,
  }));
  const undecided = { episodeIds: [], fate: undefined, step: undefined, parts: undefined, scoreRevision: null };
  state.groups.set(record.groupId, { ...record, places, ...undecided });
  for (const policy of policiesOf(record)) lineOf(state, policy);
  if (record.purpose === 'train') setDraw(state, record, 'open');
}

function applyClaim(state: LedgerState, record: ClaimRecord): void {
  const { episodeId, claimId } = record;
  const group = findGroup(state, record.groupId);
  const place = group.places[record.place];
  requireRecord(place !== undefined, `group "${group.groupId}" has no place ${record.place}`);
  requireRecord(group.fate === undefined, `episode "${episodeId}" was claimed in a group that is ${group.fate}`);
  requireRecord(place.episodeId === undefined, `place ${record.place} of "${group.groupId}" has two episodes`);
  requireRecord(!place.isGivenUp, `place ${record.place} of "${group.groupId}" was claimed after it was given up`);
  requireRecord(!state.episodes.has(episodeId), `the episode id "${episodeId}" was used twice`);
  requireRecord(state.finished.episode(episodeId) === undefined, `the episode id "${episodeId}" was used twice`);
  place.attempts = record.attempt + 1;
  place.episodeId = episodeId;
  group.episodeIds.push(episodeId);
  state.claims.set(claimId, episodeId);
  // The keys are listed one by one. Spreading the record and adding keys would cost ten times as much.
  const episode: LedgerEpisode = {
    kind: 'claim',
    groupId: record.groupId,
    place: record.place,
    attempt: record.attempt,
    episodeId,
    claimId,
    client: record.client,
    life: record.life,
    seed: record.seed,
    state: 'running',
    reason: undefined,
    parts: undefined,
    calls: [],
    end: undefined,
    reward: null,
    isSuccess: null,
    rewards: undefined,
    rewardRevision: null,
  };
  const { keyName } = record;
  state.episodes.set(episodeId, keyName === undefined ? episode : { ...episode, keyName });
}

function applyCall(state: LedgerState, { episodeId, requestId, version, incarnation, policy }: CallRecord): void {
  const episode = requireEpisode(state, episodeId);
  requireRecord(episode.state === 'running', `episode "${episodeId}" has a call after it was ${episode.state}`);
  const isKnown = episode.calls.some((call) => call.requestId === requestId);
  requireRecord(!isKnown, `call "${requestId}" of episode "${episodeId}" was recorded twice`);
  episode.calls.push({ requestId, version, incarnation, ...(policy !== undefined && { policy }) });
}

function applyGiveUp(state: LedgerState, record: GiveUpRecord): void {
  const group = findGroup(state, record.groupId);
  for (const index of record.places) {
    const place = group.places[index];
    requireRecord(place !== undefined, `group "${group.groupId}" has no place ${index}`);
    const episode = place.episodeId === undefined ? undefined : requireEpisode(state, place.episodeId);
    if (episode !== undefined) dropEpisode(state, episode, { reason: record.reason, isCounted: false });
    place.isGivenUp = true;
  }
}

function applyGroupDropped(state: LedgerState, record: GroupDroppedRecord): void {
  const group = findGroup(state, record.groupId);
  requireRecord(group.fate === undefined, `group "${group.groupId}" was dropped after it was ${group.fate}`);
  for (const { episodeId } of group.places) {
    if (episodeId === undefined) continue;
    dropEpisode(state, requireEpisode(state, episodeId), { reason: record.reason, isCounted: false });
  }
  group.fate = record.reason;
  if (group.purpose === 'train') setDraw(state, group, record.returns ? 'returned' : 'over', record.reason);
}

function applyFinished(state: LedgerState, record: FinishedRecord): void {
  for (const episode of record.episodes) {
    state.claims.delete(episode.claimId);
    for (const policy of Object.keys(episode.parts ?? {})) lineOf(state, policy);
    state.episodes.delete(episode.episodeId);
  }
  state.groups.delete(record.groupId);
  state.finished.add(record);
  if (record.purpose === 'train') setDraw(state, record, record.returns ? 'returned' : 'over', record.fate);
}

type DrawTry = Pick<GroupRecord, 'draw' | 'tryIndex' | 'expiries' | 'share'>;

function setDraw(
  state: LedgerState,
  { draw, tryIndex, expiries, share }: DrawTry,
  fate: DrawFate,
  reason?: string,
): void {
  const schedule = scheduleOf(state, share);
  state.schedules.set(share ?? defaultShare, schedule);
  const known = schedule.draws.get(draw);
  if (known !== undefined && known.tryIndex > tryIndex) return;
  schedule.draws.set(draw, drawState({ tryIndex, expiries: expiries + (reason === 'group_expired' ? 1 : 0), fate }));
  if (fate === 'returned') schedule.returned.add(draw);
  else schedule.returned.delete(draw);
  schedule.nextDraw = Math.max(schedule.nextDraw, draw + 1);
}

type DrawFate = DrawState['fate'];
