import { AgentJetError, toErrorMessage } from '@agentjet/core';

/** A model that fails more often within the window is not reopened automatically. */
const maxFailures = 3;
const failureWindowMs = 10 * 60_000;

/** Decides whether a model that failed is opened again automatically. */
export class RecentFailures {
  #times: readonly number[] = [];

  /**
   * Notes a failure. Returns undefined if the model is opened again. Otherwise it returns the reason and the repair.
   */
  note(error: unknown, nowMs: number): string | undefined {
    this.#times = [...this.#times.filter((ms) => nowMs - ms < failureWindowMs), nowMs];
    const message = toErrorMessage(error);
    const teachesNothing = error instanceof AgentJetError && error.code === 'nothing_trained';
    if (teachesNothing) return message;
    if (this.#times.length <= maxFailures) return undefined;
    return `${message}${/[.!?]$/.test(message) ? '' : '.'} It failed ${this.#times.length} times within ten minutes. Repair the cause; then "ajet swarm start" opens it again.`;
  }

  /** Forgets the failures, because an operator has started the model again. */
  forget(): void {
    this.#times = [];
  }
}
