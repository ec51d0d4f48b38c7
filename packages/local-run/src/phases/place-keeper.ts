import { WorkflowError, type CommonConfig, formatSeconds, pause } from '@agentjet/core';
import {
  OutagePause,
  placeStateOf,
  systemHost,
  type Ledger,
  type LedgerGroup,
  type LedgerRules,
  type OutageStatus,
} from '@agentjet/ledger';
import {
  isAgentsFailure,
  type Attempt,
  type AttemptKeeper,
  type Episode,
  type RecalledAttempt,
  type TaskGroup,
} from '@agentjet/rollout';
import { createMemoryRecord, type PlaceRecord, type SampledFor, placeRules } from '../recorded/place-record.js';
import { unrewarded } from '../recorded/stored-episode.js';
import { JudgeAbsence } from './judge-absence.js';

/**
 * Keeps track of the attempts of an ordinary run: which attempt counts for which place of a group, which attempts are
 * repeated, and when an outage or an absent judge holds back further attempts. The rules are in the ledger and are the
 * same as for a swarm server. The record is in memory or on disk. If it is on disk, a resumed run gets its finished
 * attempts back.
 */

export type PlaceKeeperOptions = {
  readonly rules: Partial<LedgerRules>;
  /** Default: in memory, with these rules. */
  readonly record?: PlaceRecord | undefined;
  /** The longest outage in ms. Null means that an outage may last without limit. */
  readonly maxOutageMs: number | null;
  readonly scorePatienceMs: number | null;
  readonly onNotice: (message: string) => void;
  /** Throws if the engine is broken, because waiting would not repair it. */
  readonly checkEngine?: () => void;
  /** Default: the system's clock. */
  readonly host?: Clock;
};

type Clock = {
  readonly now: () => number;
  readonly random: () => number;
  /** Calls back after `ms`. The returned function cancels the call. */
  readonly after: (ms: number, run: () => void) => () => void;
};

const repair: Readonly<Record<string, string>> = {
  debug_model: 'Check the quota, the key and the address of the debugModel.',
  judge: 'Check the quota, the key and the address of what the judge asks.',
  engine: 'The engine that samples the model fails; its last lines are in the log.',
  environment: "Check that the environment's server is running, has room, and can be reached from here.",
  connection: 'Check that the service is running and can be reached from here.',
  workflow: 'The workflow reported an outage.',
};

/** A waiting attempt checks again at least this often. */
const longestLookMs = 1000;

export class PlaceKeeper implements AttemptKeeper {
  readonly scorePatienceMs: number | null;
  readonly #options: PlaceKeeperOptions;
  readonly #host: Clock;
  readonly #ledger: Ledger;
  readonly #record: PlaceRecord;
  readonly #pause: OutagePause;
  /** The ledger's ids of groups that are being sampled. */
  readonly #groupIds = new Map<string, string>();
  /** The ledger's ids of the running attempts in these groups. */
  readonly #episodeIds = new Map<string, string>();
  readonly #judge = new JudgeAbsence();
  readonly #onHeld = new Set<(isHeld: boolean) => void>();
  #wasHeld = false;
  #known = new Set<string>();
  #lastSource = '';

  constructor(options: PlaceKeeperOptions) {
    this.#options = options;
    this.#host = options.host ?? systemHost;
    this.scorePatienceMs = options.scorePatienceMs;
    this.#record = options.record ?? createMemoryRecord({ rules: options.rules, now: this.#host.now });
    this.#ledger = this.#record.ledger;
    this.#pause = new OutagePause({ maxOutageMs: options.maxOutageMs, random: this.#host.random });
  }

  /** Returns the keeper for the groups of one step. */
  during(at: SampledFor): AttemptKeeper {
    return {
      scorePatienceMs: this.scorePatienceMs,
      recall: (attempt) => this.#recall(attempt, at),
      begin: (attempt, signal) => this.begin(attempt, signal, at),
      end: (attempt, episode) => this.end(attempt, episode),
      judgeIsAway: (episodeId, message) => this.judgeIsAway(episodeId, message),
      onJudgeBack: (listener) => this.onJudgeBack(listener),
      isPaused: () => this.isPaused(),
    };
  }

  async begin(attempt: Attempt, signal: AbortSignal, at: SampledFor = { purpose: 'train', step: 0 }): Promise<void> {
    this.#record.check();
    await this.#waitForWorld(signal);
    const { place, episodeId, seed } = attempt;
    const group = this.#openGroup(attempt, at);
    if (group.fate !== undefined) return;
    const id = this.#record.newEpisode(episodeId, group.groupId);
    this.#ledger.claim({ groupId: group.groupId, place }, { ...id, seed });
    this.#episodeIds.set(episodeId, id.episodeId);
  }

  end({ groupId, place, episodeId: name }: Attempt, episode: Episode): boolean {
    const outage = episode.status === 'failed' ? episode.error.outage : undefined;
    const wasRunning = this.#pause.status(this.#host.now()).kind === 'running';
    this.#noteInPause(episode, outage);
    this.#noteVerdict(name, episode);
    this.#tellHeld();
    const episodeId = this.#episodeIds.get(name);
    this.#episodeIds.delete(name);
    // Ignore an attempt whose group was dropped before.
    if (episodeId === undefined || this.#ledger.state.episodes.get(episodeId)?.state !== 'running') return false;
    this.#noteInLedger(episodeId, episode, { isOutage: outage !== undefined, isCounted: wasRunning });
    this.#tellSuspects();
    return outage !== undefined && this.#isOpen(groupId, place);
  }

  /**
   * Whether time does not count, so that no episode is late: during an outage, or while an episode waits for the judge.
   */
  isPaused(): boolean {
    return this.isHeld() || this.#judge.isAwaited;
  }

  /** Whether an outage or an absent judge holds back further attempts. */
  isHeld(): boolean {
    return this.#judge.isAway || this.#pause.status(this.#host.now()).kind !== 'running';
  }

  /** Calls the listener when `isHeld` changes. The returned function removes the listener. */
  onHeld(listener: (isHeld: boolean) => void): () => void {
    this.#onHeld.add(listener);
    return () => void this.#onHeld.delete(listener);
  }

  judgeIsAway(episodeId: string, message: string): void {
    if (!this.#judge.note(episodeId)) return;
    this.#options.onNotice(
      `Paused: the judge cannot be reached (${message}). ${repair['judge'] ?? ''}\n` +
        'No new episodes start; those that have ended wait for their rewards and ask again after growing gaps, and the run continues automatically.',
    );
    this.#tellHeld();
  }

  onJudgeBack(listener: () => void): () => void {
    return this.#judge.onBack(listener);
  }

  /** Returns the groups that cannot be trained because of an outage. Each of them is sampled again at most twice. */
  expired(groups: readonly TaskGroup[], numTries: number): readonly TaskGroup[] {
    if (numTries > this.#ledger.rules.maxExpiries) return [];
    return groups.filter(({ groupId, episodes }) => {
      const isLost = this.#find(groupId)?.fate === 'group_expired';
      return isLost && episodes.every(isLostOrCompleted);
    });
  }

  /**
   * Forgets groups whose sampling has ended, so that memory does not grow without limit. Records on disk are forgotten
   * when a checkpoint covers them.
   */
  release(groups: readonly TaskGroup[]): void {
    for (const { groupId, isGivenUp, episodes } of groups) {
      for (const { episodeId } of episodes) this.#judge.leave(episodeId, false);
      const group = this.#find(groupId);
      this.#groupIds.delete(groupId);
      if (group === undefined || this.#record.isKept) continue;
      if (group.fate === undefined) this.#ledger.dropGroup(group.groupId, isGivenUp === true ? 'stale' : 'run_stopped');
      this.#ledger.forget(group.groupId);
    }
  }

  /** Returns a finished attempt of an earlier process. `isFinal` means that no further attempt follows. */
  #recall({ groupId, place, episodeId, task }: Attempt, at: SampledFor): RecalledAttempt | undefined {
    if (!this.#record.isKept) return undefined;
    const id = this.#record.groupIdOf(groupId, at);
    if (!this.#ledger.state.groups.has(id)) return undefined;
    this.#groupIds.set(groupId, id);
    const episode = this.#record.recall(episodeId, id, task);
    if (episode === undefined) return undefined;
    const isOutage = episode.status === 'failed' && episode.error.outage !== undefined;
    return { episode, isFinal: !isOutage || !this.#isRetried(id, { groupId, place, episodeId }) };
  }

  /** Whether another attempt followed or will follow this attempt. */
  #isRetried(id: string, { groupId, place, episodeId }: Pick<Attempt, 'groupId' | 'place' | 'episodeId'>): boolean {
    const { episodes, groups } = this.#ledger.state;
    const known = this.#record.newestOf(episodeId, id);
    const others = (groups.get(id)?.episodeIds ?? []).flatMap((other) => episodes.get(other) ?? []);
    const later = others.some(
      (other) => other.place === place && other.attempt > (known?.attempt ?? 0) && other.end !== undefined,
    );
    return later || this.#isOpen(groupId, place);
  }

  #openGroup({ groupId, task, numPlaces }: Attempt, at: SampledFor): Readonly<LedgerGroup> {
    const id = this.#record.groupIdOf(groupId, at);
    this.#groupIds.set(groupId, id);
    const { groups, finished } = this.#ledger.state;
    const { purpose, step } = at;
    const draw = groups.size + finished.size;
    const isEvaluated = purpose === 'evaluation' && { purpose, evaluates: step };
    return (
      groups.get(id) ?? this.#ledger.openGroup({ groupId: id, taskId: task.taskId, numPlaces, draw, ...isEvaluated })
    );
  }

  #find(groupId: string): Readonly<LedgerGroup> | undefined {
    return this.#ledger.state.groups.get(this.#groupIds.get(groupId) ?? '');
  }

  #isOpen(groupId: string, place: number): boolean {
    const group = this.#find(groupId);
    const seat = group?.places[place];
    if (group === undefined || group.fate !== undefined || seat === undefined) return false;
    return placeStateOf(this.#ledger.state, seat, this.#ledger.rules) === 'open';
  }

  async #waitForWorld(signal: AbortSignal): Promise<void> {
    for (;;) {
      if (signal.aborted) return;
      const status = this.#pause.status(this.#host.now());
      if (status.kind === 'over') throw this.#tooLong(status);
      const { mayStart, waitMs } = this.#judge.isAway
        ? { mayStart: false, waitMs: longestLookMs }
        : this.#pause.start(this.#host.now());
      if (mayStart) return;
      await pause(this.#host, Math.min(waitMs, longestLookMs), signal);
    }
  }

  /** Notes what an episode shows about the judge. If the workflow gave the reward, it shows nothing. */
  #noteVerdict(name: string, { status, secondsJudging }: Episode): void {
    const isBack = this.#judge.leave(name, status === 'completed' && secondsJudging !== undefined);
    if (isBack) this.#options.onNotice('The judge is back: the run continues.');
  }

  #tellHeld(): void {
    const isHeld = this.isHeld();
    if (isHeld === this.#wasHeld) return;
    this.#wasHeld = isHeld;
    for (const listener of this.#onHeld) listener(isHeld);
  }

  #noteInPause(episode: Episode, outage: { readonly source: string; readonly host: string } | undefined): void {
    const now = this.#host.now();
    const before = this.#pause.status(now);
    if (outage === undefined || episode.status !== 'failed') this.#pause.kept(now);
    else {
      this.#lastSource = outage.source;
      this.#pause.lost(now, { host: outage.host, reason: episode.error.message });
    }
    const after = this.#pause.status(now);
    if (before.kind === 'running' && after.kind !== 'running') this.#tellPause(after);
    if (before.kind !== 'running' && after.kind === 'running')
      this.#options.onNotice(`The world is back: the run continues after ${formatSeconds(before.pausedMs / 1000)}.`);
  }

  #tellPause(status: Exclude<OutageStatus, { kind: 'running' }>): void {
    this.#options.checkEngine?.();
    const why =
      status.cause === 'in_a_row'
        ? `several attempts in a row were lost to ${status.host ?? 'one host'}`
        : 'half of the last attempts were lost';
    const { maxOutageMs } = this.#options;
    const limit =
      maxOutageMs === null ? '' : ` It ends after ${formatSeconds(maxOutageMs / 1000)} (rollout.max_outage).`;
    this.#options.onNotice(
      `Paused: ${why}. ${status.reason}\n${repair[this.#lastSource] ?? ''} ` +
        `No new episodes start; one at a time is tried after growing gaps, and the run continues automatically.${limit}`,
    );
  }

  #tooLong({ pausedMs, reason }: Exclude<OutageStatus, { kind: 'running' }>): WorkflowError {
    return new WorkflowError(
      'outage',
      `The run was paused for ${formatSeconds(pausedMs / 1000)}, longer than rollout.max_outage allows. ${reason}\n` +
        `${repair[this.#lastSource] ?? ''} Then continue with --resume.`,
    );
  }

  #noteInLedger(
    episodeId: string,
    episode: Episode,
    { isOutage, isCounted }: { readonly isOutage: boolean; readonly isCounted: boolean },
  ): void {
    const { seconds, stats } = episode;
    const shared = { tokens: stats.generatedTokens, seconds, ...this.#record.sealOf(episode) };
    if (episode.status === 'completed') {
      const { reward, isSuccess, rewards, turnRewards } = episode;
      const more = { ...(rewards !== undefined && { rewards }), ...(turnRewards !== undefined && { turnRewards }) };
      this.#ledger.end(episodeId, { ...shared, ...more, status: 'completed', reward, isSuccess });
    } else if (isOutage && episode.error.outage?.source !== 'judge')
      this.#ledger.end(episodeId, { ...shared, status: 'outage', isCounted });
    else if (isAgentsFailure(episode.error)) this.#ledger.end(episodeId, { ...shared, status: 'failed' });
    // The episode has waited for too long, or the judge is broken. Another attempt would fail in the same way, and no
    // policy gives a reward.
    else this.#ledger.end(episodeId, { ...shared, status: 'failed', policy: unrewarded });
  }

  #tellSuspects(): void {
    const suspects = this.#ledger.suspects();
    for (const taskId of suspects)
      if (!this.#known.has(taskId))
        this.#options.onNotice(
          `Task ${taskId} is suspect: its attempts are lost in three places while those of other tasks finish. From now on they count as failures of the agent.`,
        );
    this.#known = new Set(suspects);
  }
}

/** Returns false if the agent or the judge failed, because another attempt would fail for the same reason. */
function isLostOrCompleted(episode: Episode): boolean {
  if (episode.status === 'completed') return true;
  const { outage } = episode.error;
  return outage !== undefined && outage.source !== 'judge';
}

/** Creates the keeper with the rules of the configuration. `checkEngine` throws if the engine is broken. */
export function createPlaceKeeper(
  config: CommonConfig,
  options: Pick<PlaceKeeperOptions, 'onNotice' | 'checkEngine' | 'record'>,
): PlaceKeeper {
  const { maxOutage, scorePatience } = config.rollout;
  const toMs = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);
  return new PlaceKeeper({
    ...options,
    rules: placeRules(config),
    maxOutageMs: toMs(maxOutage),
    scorePatienceMs: toMs(scorePatience ?? maxOutage),
  });
}
