import type { ClaimAnswer, ClaimedEpisode, EndRequest, Receipt, ServerAnswer } from '@agentjet/swarm-wire';

/** An event for the listener of a run. */
export type SwarmEvent =
  | { readonly type: 'episode_started'; readonly episode: ClaimedEpisode }
  | {
      readonly type: 'episode_ended';
      readonly episodeId: string;
      readonly taskId: string;
      readonly seconds: number;
      readonly end: EndRequest;
      /** Confirms that the end is on the server's disk. */
      readonly receipt: Receipt;
    }
  | { readonly type: 'episode_gone'; readonly episodeId: string; readonly reason: string }
  /** Emitted after each change that the client sees. */
  | { readonly type: 'server'; readonly server: ServerAnswer }
  | { readonly type: 'notice'; readonly message: string };

/** The result of a run. */
export type RunResult = {
  /**
   * Why the run ended: all steps are made, all tasks were drawn, an operator stopped the server, or the signal aborted.
   */
  readonly reason: 'complete' | 'no_task' | 'stopped' | 'interrupted';
  /** Episodes with a receipt. */
  readonly ended: number;
  readonly completed: number;
  readonly failed: number;
  readonly outages: number;
  /** Episodes that the server took back before they had ended. */
  readonly gone: number;
  /** The mean over completed episodes with a reward. Null if there are none. */
  readonly meanReward: number | null;
};

/** Counts the outcomes of episodes and calls the listener. */
export class Tally {
  readonly #onEvent: (event: SwarmEvent) => void;
  readonly #begun = new Map<string, { readonly taskId: string; readonly atMs: number }>();
  readonly #counts = { completed: 0, failed: 0, outage: 0, gone: 0 };
  #sum = 0;
  #numRewards = 0;
  #lastReason: ClaimAnswer['reason'];

  constructor(onEvent: (event: SwarmEvent) => void) {
    this.#onEvent = onEvent;
  }

  begin(episode: ClaimedEpisode, atMs: number): void {
    this.#begun.set(episode.episode_id, { taskId: episode.task_id, atMs });
    this.#onEvent({ type: 'episode_started', episode });
  }

  end(receipt: Receipt, end: EndRequest, nowMs: number): void {
    const { taskId, atMs } = this.#take(receipt.episode_id, nowMs);
    this.#counts[receipt.status]++;
    if (receipt.status === 'completed' && end.reward !== null) {
      this.#sum += end.reward;
      this.#numRewards++;
    }
    const seconds = (nowMs - atMs) / 1000;
    this.#onEvent({ type: 'episode_ended', episodeId: receipt.episode_id, taskId, seconds, end, receipt });
  }

  gone(episodeId: string, reason: string): void {
    this.#take(episodeId, 0);
    this.#counts.gone++;
    this.#onEvent({ type: 'episode_gone', episodeId, reason });
  }

  /** Whether an empty claim means that nothing is left. A client without tasks waits for those of other clients. */
  isDone(reason: ClaimAnswer['reason'], hasTasks: boolean): boolean {
    this.#lastReason = reason;
    const hasRun = this.#counts.completed + this.#counts.failed + this.#counts.outage > 0;
    return reason === 'stopped' || reason === 'complete' || (reason === 'no_task' && (hasTasks || hasRun));
  }

  result(isInterrupted: boolean): RunResult {
    const { completed, failed, outage, gone } = this.#counts;
    const last = this.#lastReason;
    const reason = last === 'stopped' || last === 'complete' ? last : 'no_task';
    return {
      reason: isInterrupted ? 'interrupted' : reason,
      ended: completed + failed + outage,
      completed,
      failed,
      outages: outage,
      gone,
      meanReward: this.#numRewards === 0 ? null : this.#sum / this.#numRewards,
    };
  }

  #take(episodeId: string, nowMs: number): { readonly taskId: string; readonly atMs: number } {
    const begun = this.#begun.get(episodeId) ?? { taskId: '', atMs: nowMs };
    this.#begun.delete(episodeId);
    return begun;
  }
}
