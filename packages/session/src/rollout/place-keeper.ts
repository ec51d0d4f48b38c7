import { WorkflowError, type CommonConfig } from '@agentjet/core';
import { Ledger, OutagePause, placeStateOf, systemHost, type LedgerRules, type OutageStatus } from '@agentjet/ledger';
import { isAgentsFailure, type Attempt, type AttemptKeeper, type Episode, type TaskGroup } from '@agentjet/rollout';
import { formatSeconds } from '../quantities.js';

/**
 * Keeps the places of an ordinary run: which attempt fills which, which are made again, and when no further one starts because the
 * world is down. The rules are the ledger's, the same as a swarm server's; here they are kept in memory.
 */

export type PlaceKeeperOptions = {
  readonly rules: Partial<LedgerRules>;
  /** ms; null: an outage may last for ever. */
  readonly maxOutageMs: number | null;
  readonly scorePatienceMs: number | null;
  readonly onNotice: (message: string) => void;
  /** Throws if the engine is broken for good: no waiting repairs that. */
  readonly checkEngine?: () => void;
  /** Default: the system's. */
  readonly host?: Clock;
};

type Clock = {
  readonly now: () => number;
  readonly random: () => number;
  /** Calls back after `ms`; what it returns takes that back. */
  readonly after: (ms: number, run: () => void) => () => void;
};

const repair: Readonly<Record<string, string>> = {
  debug_model: 'Check the quota, the key and the address of the debugModel.',
  judge: 'Check the quota, the key and the address of what the judge asks.',
  engine: 'The engine that samples the model fails; its last lines are in the log.',
  environment: "Check that the environment's server is running, has room, and can be reached from here.",
  connection: 'Check that the service is running and can be reached from here.',
  workflow: 'The workflow says that the world failed.',
};

/** A waiting attempt looks again at least this often. */
const longestLookMs = 1000;

export class PlaceKeeper implements AttemptKeeper {
  readonly scorePatienceMs: number | null;
  readonly #options: PlaceKeeperOptions;
  readonly #host: Clock;
  readonly #ledger: Ledger;
  readonly #pause: OutagePause;
  #known = new Set<string>();
  #lastSource = '';

  constructor(options: PlaceKeeperOptions) {
    this.#options = options;
    this.#host = options.host ?? systemHost;
    this.scorePatienceMs = options.scorePatienceMs;
    this.#ledger = new Ledger({ rules: options.rules, now: this.#host.now });
    this.#pause = new OutagePause({ maxOutageMs: options.maxOutageMs, random: this.#host.random });
  }

  async begin(attempt: Attempt, signal: AbortSignal): Promise<void> {
    await this.#waitForWorld(signal);
    const { groupId, task, place, numPlaces, episodeId, seed } = attempt;
    if (!this.#ledger.state.groups.has(groupId))
      this.#ledger.openGroup({ groupId, taskId: task.taskId, numPlaces, draw: this.#ledger.state.groups.size });
    if (this.#ledger.group(groupId).fate === undefined) this.#ledger.claim({ groupId, place }, { episodeId, seed });
  }

  end({ groupId, place, episodeId }: Attempt, episode: Episode): boolean {
    const outage = episode.status === 'failed' ? episode.error.outage : undefined;
    const wasRunning = this.#pause.status(this.#host.now()).kind === 'running';
    this.#noteInPause(episode, outage);
    if (this.#ledger.state.episodes.get(episodeId)?.state !== 'running') return false; // its group was dropped before
    this.#noteInLedger(episode, { isOutage: outage !== undefined, isCounted: wasRunning });
    this.#tellSuspects();
    const { fate, places } = this.#ledger.group(groupId);
    const seat = places[place];
    const isOpen = seat !== undefined && placeStateOf(this.#ledger.state, seat, this.#ledger.rules) === 'open';
    return outage !== undefined && fate === undefined && isOpen;
  }

  isPaused(): boolean {
    return this.#pause.status(this.#host.now()).kind !== 'running';
  }

  judgeIsAway(episodeId: string, message: string): void {
    this.#options.onNotice(
      `The judge cannot be reached (${message}); episode ${episodeId} waits for its reward. ${repair['judge'] ?? ''}`,
    );
  }

  /** Groups that could not become trainable because the world failed; each is drawn again, at most twice. */
  expired(groups: readonly TaskGroup[], numTries: number): readonly TaskGroup[] {
    if (numTries > this.#ledger.rules.maxExpiries) return [];
    return groups.filter(({ groupId, episodes }) => {
      const isLost = this.#ledger.state.groups.get(groupId)?.fate === 'group_expired';
      return isLost && episodes.every(isLostOrCompleted);
    });
  }

  /** Lets go of groups that are sampled: memory stays bounded. */
  release(groups: readonly TaskGroup[]): void {
    for (const { groupId, isGivenUp } of groups) {
      const group = this.#ledger.state.groups.get(groupId);
      if (group === undefined) continue;
      if (group.fate === undefined) this.#ledger.dropGroup(groupId, isGivenUp === true ? 'stale' : 'run_stopped');
      this.#ledger.forget(groupId);
    }
  }

  async #waitForWorld(signal: AbortSignal): Promise<void> {
    for (;;) {
      if (signal.aborted) return;
      const status = this.#pause.status(this.#host.now());
      if (status.kind === 'over') throw this.#tooLong(status);
      const { mayStart, waitMs } = this.#pause.start(this.#host.now());
      if (mayStart) return;
      await this.#sleep(Math.min(waitMs, longestLookMs), signal);
    }
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#host.after(ms, done);
      signal.addEventListener('abort', done, { once: true });
    });
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
      this.#options.onNotice(`The world is back: the run goes on after ${formatSeconds(before.pausedMs / 1000)}.`);
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
        `No new episodes start; one at a time is tried after growing gaps, and the run goes on by itself.${limit}`,
    );
  }

  #tooLong({ pausedMs, reason }: Exclude<OutageStatus, { kind: 'running' }>): WorkflowError {
    return new WorkflowError(
      'outage',
      `The run was paused for ${formatSeconds(pausedMs / 1000)}, longer than rollout.max_outage allows. ${reason}\n` +
        `${repair[this.#lastSource] ?? ''} Then go on with --resume.`,
    );
  }

  #noteInLedger(episode: Episode, { isOutage, isCounted }: { isOutage: boolean; isCounted: boolean }): void {
    const { episodeId } = episode;
    if (episode.status === 'completed')
      this.#ledger.end(episodeId, { status: 'completed', reward: episode.reward, isSuccess: episode.isSuccess });
    else if (isOutage && episode.error.outage?.source === 'judge')
      this.#ledger.drop(episodeId, 'failed'); // its patience is over, and another attempt would meet the same judge
    else if (isOutage) this.#ledger.end(episodeId, { status: 'outage', isCounted });
    else if (isAgentsFailure(episode.error)) this.#ledger.end(episodeId, { status: 'failed' });
    else this.#ledger.drop(episodeId, 'failed');
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

/** True unless the agent or the judge is why the place is empty: another try would meet the same. */
function isLostOrCompleted(episode: Episode): boolean {
  if (episode.status === 'completed') return true;
  const { outage } = episode.error;
  return outage !== undefined && outage.source !== 'judge';
}

/** The rules as the configuration states them. `checkEngine` throws if the engine is broken for good. */
export function createPlaceKeeper(
  config: CommonConfig,
  options: Pick<PlaceKeeperOptions, 'onNotice' | 'checkEngine'>,
): PlaceKeeper {
  const { failedEpisodePolicy, maxAttempts, minGroupShare, maxOutage, scorePatience } = config.rollout;
  const toMs = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);
  return new PlaceKeeper({
    ...options,
    rules: { failedEpisodePolicy, maxAttempts, minGroupShare, groupPatienceMs: null, scorePatienceMs: null },
    maxOutageMs: toMs(maxOutage),
    scorePatienceMs: toMs(scorePatience ?? maxOutage),
  });
}
