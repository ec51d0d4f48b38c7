import { countOf } from '@agentjet/core';
/** Measures how long an episode has waited for its models. Overlapping calls count once. */
export class WaitClock {
  #numCalls = 0;
  #numRunning = 0;
  #waitedMs = 0;
  #since = 0;

  /** Begins a call. The returned function ends it. */
  begin(): () => void {
    this.#numCalls++;
    if (this.#numRunning++ === 0) this.#since = performance.now();
    let isRunning = true;
    return () => {
      if (!isRunning) return;
      isRunning = false;
      if (--this.#numRunning === 0) this.#waitedMs += performance.now() - this.#since;
    };
  }

  /**
   * Measures a call, and returns the promise of the call itself. A derived promise would also reject, and no code would
   * handle its rejection.
   */
  measure<T>(call: () => Promise<T>): Promise<T> {
    const end = this.begin();
    try {
      const answer = call();
      answer.then(end, end);
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  }

  read(): { readonly numCalls: number; readonly numRunning: number; readonly waitedMs: number } {
    const running = this.#numRunning === 0 ? 0 : performance.now() - this.#since;
    return { numCalls: this.#numCalls, numRunning: this.#numRunning, waitedMs: this.#waitedMs + running };
  }
}

/** Returns the message of a timeout. It says how the episode spent its time, and what helps. */
export function describeTimeout(
  timeoutMs: number,
  timeoutName: string,
  { numCalls, numRunning, waitedMs }: ReturnType<WaitClock['read']>,
): string {
  const head = `The workflow was still running after ${timeoutMs / 1000} s.`;
  if (numCalls === 0) return `${head} It called no model. Make it faster, or raise ${timeoutName}.`;
  const seconds = (ms: number): string => `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const calls = `${countOf(numCalls, 'call')}, ${numRunning} of them without an answer yet`;
  const spent = `It waited ${seconds(waitedMs)} for its models (${calls}) and ran ${seconds(timeoutMs - waitedMs)} of other code.`;
  const isModels = waitedMs > timeoutMs / 2;
  const repair = isModels
    ? `Raise ${timeoutName}, or let fewer episodes share the sampler (rollout.max_env_worker) or answer in fewer tokens (rollout.max_response_length_in_one_turn).`
    : `Make it faster, or raise ${timeoutName}.`;
  return `${head} ${spent} ${repair}`;
}
