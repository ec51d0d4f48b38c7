import type { Account } from './account.js';
import type { DropReason } from './drop-reasons.js';
import type { Flying } from './collection.js';
import { AttemptIndex, groupIdsOf, type Flight } from './attempt-index.js';
import { applyRecord } from './fold.js';
import { toEndRecord } from './end-record.js';
import { forgetGroup } from './forget-group.js';
import { LeaseClock } from './lease-clock.js';
import {
  isDropping,
  isForExactly,
  hasNoConsequence,
  notWhole,
  requireNewGroup,
  requireOpenSeat,
  requireReplaced,
  requireReward,
  requireRewards,
  requireSameEnd,
  toManifestGroup,
  toIdleGroup,
} from './ledger-checks.js';
import { LedgerError } from './ledger-error.js';
import { LiveAccount, overall } from './live-account.js';
import { Patience } from './patience.js';
import { defaultPolicy, groupPart, lineOf, named } from './policies.js';
import {
  attemptsOf,
  byUrgency,
  canBecomeTrainable,
  isClosed,
  isSampled,
  isTrainable,
  membersOf,
  seatStateOf,
} from './places.js';
import type { ClaimRecord, LedgerRecord, ManifestGroup, ManifestRecord, ScoreRecord } from './records.js';
import type {
  GroupStatus,
  LedgerOptions,
  NewCall,
  NewClaim,
  NewEnd,
  NewGroup,
  NewScores,
  NewStep,
  OpenPlace,
  PolicyOutcome,
} from './requests.js';
import { createRules, type LedgerRules } from './rules.js';
import { createState, type LedgerEpisode, type LedgerGroup, type LedgerState, type PolicyLine } from './state.js';
import { SuspectTasks } from './suspect-tasks.js';

/**
 * The ledger of a run. Each of its methods turns a change into records and applies these records to the state, all in
 * one turn of the event loop. `journal` receives the records so that a run or a swarm server can write them; without it
 * they are only in memory. The ledger starts no timers: its owner calls `expire` every second.
 */
export class Ledger {
  readonly state: LedgerState;
  readonly clock: LeaseClock;
  readonly #journal: (records: readonly LedgerRecord[]) => void;
  readonly #onDrop: (episode: Readonly<LedgerEpisode>) => void;
  readonly #patience: Patience;
  readonly #account: LiveAccount;
  readonly #suspects = new SuspectTasks();
  #rules: LedgerRules;
  #index: AttemptIndex;

  constructor(options: LedgerOptions) {
    this.#rules = createRules(options.rules);
    this.state = options.state ?? createState();
    this.#index = new AttemptIndex(this.state, this.#rules);
    this.#account = new LiveAccount(this.state);
    this.clock = new LeaseClock(options.now, options);
    this.#journal = options.journal ?? (() => {});
    this.#onDrop = options.onDrop ?? (() => {});
    this.#patience = new Patience(this.clock);
    for (const groupId of this.state.groups.keys()) this.#patience.note(this.state, groupId);
  }

  get rules(): LedgerRules {
    return this.#rules;
  }

  /** Replaces the rules from now on, also for open groups. */
  set rules(rules: LedgerRules) {
    this.#rules = createRules(rules);
    this.#index = new AttemptIndex(this.state, this.#rules);
    this.#patience.restart();
  }

  /** Counts all acknowledged episodes without visiting each of them. */
  get account(): Account {
    return this.#account.of(overall);
  }

  /** Counts a policy's parts of episodes. */
  accountOf(policy: string): Account {
    return this.#account.of(policy);
  }

  /** The number of attempts that have neither ended nor been dropped. */
  get numRunning(): number {
    return this.#index.numRunning;
  }

  readonly policy = defaultPolicy;

  /** The progress of the weights, in a run with one policy. */
  get line(): PolicyLine {
    return this.state;
  }

  /** The training groups that are sampled or pooled, in a run with one policy. It changes with the state. */
  get flight(): Flight {
    return this.#index.flightOf(defaultPolicy);
  }

  /** Returns the parts of the ledger that the batches of a policy need, in their present state. */
  of(policy: string): Flying {
    return { policy, state: this.state, line: lineOf(this.state, policy), flight: this.#index.flightOf(policy) };
  }

  /** Returns the number of running attempts that were claimed with this key. */
  numRunningOf(keyName: string): number {
    return this.#index.numRunningOf(keyName);
  }

  /** Opens a group of places for a task that was drawn. */
  openGroup(group: NewGroup): Readonly<LedgerGroup> {
    const { draw = 0, tryIndex = 0, expiries = 0, purpose = 'train', revision = '', configRevision = 0 } = group;
    requireNewGroup(this.state, group);
    this.append({ ...group, kind: 'group', draw, tryIndex, expiries, purpose, revision, configRevision });
    return this.group(group.groupId);
  }

  /**
   * Returns the oldest open place of the groups that pass. Places of evaluations come first. Returns undefined if there
   * is none.
   */
  nextPlace(passes: (group: Readonly<LedgerGroup>) => boolean = () => true): OpenPlace | undefined {
    const groups = this.#index.openGroups().filter((group) => group.fate === undefined && passes(group));
    for (const group of byUrgency(groups)) {
      const { rules } = this;
      const place = group.places.findIndex((each) => seatStateOf(this.state, group, { place: each, rules }) === 'open');
      const attempt = group.places[place]?.attempts;
      if (attempt !== undefined) return { groupId: group.groupId, place, attempt };
    }
    return undefined;
  }

  /** Begins an attempt at an open place. An attempt without a lease may be silent for any length of time. */
  claim(
    { groupId, place }: { readonly groupId: string; readonly place: number },
    claim: NewClaim,
  ): Readonly<LedgerEpisode> {
    const seat = requireOpenSeat(this.state, this.group(groupId), { place, rules: this.rules });
    const { episodeId, claimId = episodeId, client = '', life = '', seed, keyName, leaseMs } = claim;
    const attempt = seat.attempts;
    const record: ClaimRecord = { kind: 'claim', groupId, place, attempt, episodeId, claimId, client, life, seed };
    this.append(keyName === undefined ? record : { ...record, keyName });
    if (leaseMs !== undefined) this.#patience.renew(episodeId, leaseMs);
    return this.episode(episodeId);
  }

  renew(episodeId: string, leaseMs: number): void {
    this.#patience.renew(episodeId, leaseMs);
  }

  /** Keeps the lease of an episode while one of its calls is answered. Call the returned function after the call. */
  holdLease(episodeId: string): () => void {
    return this.#patience.hold(episodeId);
  }

  /** Records an answered model call. */
  recordCall(episodeId: string, call: NewCall): void {
    this.append({ kind: 'call', groupId: this.#running(episodeId).groupId, episodeId, ...call });
  }

  /** Stores content that later calls of a running episode need. */
  remember(episodeId: string, content: unknown): void {
    this.append({ kind: 'memo', groupId: this.#running(episodeId).groupId, episodeId, content });
  }

  /**
   * Ends an attempt. Repeating an accepted end changes nothing.
   * @throws LedgerError `dropped` if the episode was dropped before, `ended_differently` if another end was accepted
   */
  end(episodeId: string, end: NewEnd): Readonly<LedgerEpisode> {
    const reward = end.status === 'completed' ? (end.reward ?? null) : null;
    requireReward(episodeId, reward);
    requireRewards(episodeId, end);
    const bodyHash = end.bodyHash ?? JSON.stringify([end.status, reward, end.isSuccess ?? null]);
    const episode = this.episode(episodeId);
    if (episode.end !== undefined) return requireSameEnd(episode, bodyHash);
    const { groupId, place } = this.#running(episodeId);
    const { taskId, revision } = this.group(groupId);
    const isCounted = end.isCounted ?? true;
    const isSuspect = end.status === 'outage' && isCounted && this.#isSuspect(groupId, place);
    if (end.status !== 'outage') this.#suspects.kept(taskId);
    const { failedEpisodePolicy: policy } = this.rules;
    this.append(toEndRecord(end, { groupId, episodeId, reward, bodyHash, policy, revision, isCounted, isSuspect }));
    return episode;
  }

  /** Sets the first reward of one ended episode, from its own judge. */
  judge(episodeId: string, verdict: { readonly reward: number; readonly isSuccess?: boolean | null }): void {
    const { groupId, state, reason } = this.episode(episodeId);
    if (state !== 'ended') {
      throw new LedgerError('dropped', `Episode "${episodeId}" cannot get a reward: it is ${reason ?? state}.`);
    }
    requireReward(episodeId, verdict.reward);
    const score = { episodeId, reward: verdict.reward, isSuccess: verdict.isSuccess ?? null };
    this.append({ kind: 'score', groupId, revision: null, scores: [score] });
  }

  /**
   * Sets new rewards for all ended episodes of a group together.
   * @throws LedgerError `revision_conflict` if `replaces` is not the revision that the group has, `not_whole_group`
   * unless the scores are for exactly the ended episodes and no place is open or running
   */
  score(groupId: string, { revision, replaces, scores }: NewScores): void {
    const group = this.group(groupId);
    if (group.fate !== undefined) {
      throw new LedgerError('group_over', `Group "${groupId}" cannot get rewards: it is ${group.fate}.`);
    }
    for (const score of scores) {
      requireReward(score.episodeId, score.reward);
      requireRewards(score.episodeId, score);
    }
    const record: ScoreRecord = { kind: 'score', groupId, revision, scores };
    if (group.scoreRevision === revision) return; // the request is repeated, because its first answer was lost
    requireReplaced(group, replaces);
    const ids = membersOf(this.state, group)
      .filter(({ state }) => state !== 'running')
      .map(({ episodeId }) => episodeId);
    const isWhole = isSampled(this.state, group, this.rules) && isForExactly(ids, scores);
    if (!isWhole) throw notWhole(groupId, ids);
    this.append(record);
  }

  /** Drops one episode that is running, ended or pooled. */
  drop(episodeId: string, reason: DropReason, { isCounted = true } = {}): void {
    const { groupId, place } = this.episode(episodeId);
    const isSuspect = reason === 'lease_expired' && isCounted && this.#isSuspect(groupId, place);
    this.append({ kind: 'drop', groupId, episodeId, reason: isSuspect ? 'failed' : reason, isCounted });
  }

  /** Drops a whole group. After `superseded` its draw makes another group. */
  dropGroup(groupId: string, reason: DropReason): void {
    this.append({ kind: 'group_dropped', groupId, reason, returns: reason === 'superseded' });
  }

  /** Returns the groups as a manifest would list them now. */
  toManifestGroups(groups: readonly Readonly<LedgerGroup>[]): readonly ManifestGroup[] {
    return groups.map((group) => toManifestGroup(this.state, group));
  }

  /** Decides to train these groups, and returns the manifest of the step. */
  assign(groups: readonly Readonly<LedgerGroup>[], step: Partial<NewStep> = {}): ManifestRecord {
    const { policy = defaultPolicy } = step;
    const ids = groups.map(({ groupId }) => groupId);
    const isTaken = (group: LedgerGroup): boolean => groupPart(group, policy).fate !== undefined;
    const bad = groups.find((group) => isTaken(group) || !isTrainable(this.state, group, this.rules));
    if (bad !== undefined) throw new LedgerError('not_trainable', `Group "${bad.groupId}" cannot be trained now.`);
    const manifest: ManifestRecord = {
      kind: 'manifest',
      step: lineOf(this.state, policy).step + 1,
      ...named(policy),
      configRevision: step.configRevision ?? 0,
      groups: this.toManifestGroups(groups),
      optimizerSteps: step.optimizerSteps ?? [ids],
      ...(step.shares !== undefined && { shares: step.shares }),
      ...(step.idle !== undefined && step.idle.length > 0 && { idle: step.idle.map(toIdleGroup) }),
      ...(step.content !== undefined && { content: step.content }),
    };
    this.append(manifest);
    return manifest;
  }

  /** Records the outcome of one optimizer step. The last outcome of a manifest decides the fate of its episodes. */
  conclude(step: number, index: number, { policy = defaultPolicy, ...outcome }: PolicyOutcome): void {
    const { isApplied, leftOut = [] } = outcome;
    this.append({ kind: 'outcome', step, ...named(policy), index, isApplied, leftOut });
  }

  /** Applies leases and other time limits that have expired. */
  expire(): void {
    for (const record of this.#patience.expired(this.state, this.rules)) {
      // An earlier record of this loop has dropped the group.
      if ('groupId' in record && this.state.groups.get(record.groupId)?.fate !== undefined) continue;
      if (record.kind === 'drop') this.drop(record.episodeId, record.reason, record);
      else this.append(record);
    }
  }

  /**
   * Returns the status of a group: `sampling` if it has open or taken places, `trainable` if it may be assigned,
   * otherwise its fate.
   */
  statusOf(groupId: string): GroupStatus {
    const group = this.group(groupId);
    if (group.fate !== undefined) return group.fate;
    return isTrainable(this.state, group, this.rules) ? 'trainable' : 'sampling';
  }

  group(groupId: string): Readonly<LedgerGroup> {
    const group = this.state.groups.get(groupId);
    if (group === undefined) throw new LedgerError('unknown_group', `There is no group "${groupId}".`);
    return group;
  }

  episode(episodeId: string): Readonly<LedgerEpisode> {
    const episode = this.state.episodes.get(episodeId);
    if (episode === undefined) throw new LedgerError('unknown_episode', `There is no episode "${episodeId}".`);
    return episode;
  }

  /** Returns attempts that neither ended nor were dropped, oldest first. */
  *running(): Generator<Readonly<LedgerEpisode>> {
    for (const episodeId of this.#index.running) yield this.episode(episodeId);
  }

  /** Returns all attempts of groups that are not in a step yet, including lost ones. */
  *undecided(): Generator<Readonly<LedgerEpisode>> {
    for (const group of this.#index.undecided) yield* attemptsOf(this.state, group);
  }

  /** Returns episodes that hold a place of the group, in the order of places. */
  membersOf(groupId: string): readonly Readonly<LedgerEpisode>[] {
    return membersOf(this.state, this.group(groupId));
  }

  /** Returns the tasks whose attempts are lost while the attempts of other tasks finish. */
  suspects(): readonly string[] {
    return this.#suspects.list();
  }

  /** Removes a finished group from memory, in a run without a store. Its draw is still remembered. */
  forget(groupId: string): void {
    forgetGroup(this.state, this.group(groupId), (episodeId) => this.#account.forget(episodeId));
  }

  /**
   * Applies records that the caller made (configuration, checkpoints, evaluation, ...) and passes them to the journal.
   */
  append(...records: readonly LedgerRecord[]): void {
    if (records.every(hasNoConsequence)) {
      for (const record of records) applyRecord(this.state, record);
      return this.#journal(records);
    }
    const dropped: LedgerEpisode[] = [];
    for (const record of records) {
      const running = this.#attemptsOf(record);
      this.#account.around(record, () => applyRecord(this.state, record));
      const cut = running.filter(({ state }) => state !== 'running');
      this.#index.note(record, cut, this.#rules);
      if (record.kind === 'end' || record.kind === 'drop') this.#patience.forget(record.episodeId);
      for (const { episodeId } of cut) this.#patience.forget(episodeId);
      for (const groupId of groupIdsOf(record)) this.#patience.note(this.state, groupId);
      dropped.push(...cut);
    }
    this.#journal(records);
    for (const episode of dropped) this.#onDrop(episode);
    for (const record of records) if ('groupId' in record && !hasNoConsequence(record)) this.#settle(record.groupId);
  }

  /**
   * Drops a group that can no longer become trainable. With `cutsDoomed` this happens at once, otherwise once the group
   * is closed.
   */
  #settle(groupId: string): void {
    const group = this.state.groups.get(groupId);
    if (group === undefined || group.fate !== undefined || group.purpose !== 'train') return;
    if (canBecomeTrainable(this.state, group, this.rules)) return;
    if (!this.rules.cutsDoomed && !isClosed(this.state, group, this.rules)) return;
    const hasFailed = attemptsOf(this.state, group).some(({ reason }) => reason === 'failed');
    const returns = !hasFailed && group.expiries < this.rules.maxExpiries;
    this.append({ kind: 'group_dropped', groupId, reason: 'group_expired', returns });
  }

  #isSuspect(groupId: string, place: number): boolean {
    return this.#suspects.lost(this.group(groupId).taskId, `${groupId} ${place}`);
  }

  /** Returns dropped attempts that must be reported to the owner, because they may still be running somewhere. */
  #attemptsOf(record: LedgerRecord): LedgerEpisode[] {
    if (record.kind !== 'evaluation' && !isDropping(record)) return [];
    const groupIds = record.kind === 'evaluation' ? record.groupIds : [record.groupId];
    const groups = groupIds.flatMap((groupId) => this.state.groups.get(groupId) ?? []);
    return groups.flatMap((group) => membersOf(this.state, group)).filter(({ state }) => state === 'running');
  }

  #running(episodeId: string): Readonly<LedgerEpisode> {
    const episode = this.episode(episodeId);
    if (episode.state === 'running') return episode;
    throw new LedgerError('dropped', `Episode "${episodeId}" is over: ${episode.reason ?? episode.state}.`);
  }
}
