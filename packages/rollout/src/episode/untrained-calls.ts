import { AsyncLocalStorage } from 'node:async_hooks';
import { toErrorMessage, type ChatMessage, roundTime } from '@agentjet/core';
import type { AgentTranscript } from '@agentjet/context-tracker';
import { readMessages } from './read-call.js';
import { WaitClock } from './wait-clock.js';
import { watchAnswer, type CallOutcome } from './watch-answer.js';

/** A call of an agent that does not learn. It is recorded for people and judges and never trained. */
export type UntrainedCall = {
  readonly agentName: string;
  /** The model's own name. */
  readonly model: string;
  /** How many messages at the beginning of the request are also in the agent's previous call, including its answer. */
  readonly repeatedMessages: number;
  /** The messages after the repeated ones. */
  readonly messages: readonly ChatMessage[];
  /** The answer, or the part of a stream that the agent has read. Null if there is none. */
  readonly answer: ChatMessage | null;
  readonly error?: string;
  /** Milliseconds since the episode began. */
  readonly beganMs: number;
  readonly endedMs: number;
};

type OnOutcome = (agentName: string, error: unknown) => void;

/** Records the calls of an episode's models that do not learn. */
export class UntrainedCalls {
  readonly #startedAt = performance.now();
  readonly #calls: UntrainedCall[] = [];
  readonly #histories = new Map<string, readonly ChatMessage[]>();
  readonly #agents = new Map<unknown, Set<string>>();
  readonly #open = new Set<(outcome: CallOutcome) => void>();

  readonly #onOutcome: OnOutcome | undefined;
  readonly #clock: Pick<WaitClock, 'begin'>;

  /** `onOutcome` is called when a call ends, with its error, or with undefined if it was answered. */
  constructor(onOutcome?: OnOutcome, clock: Pick<WaitClock, 'begin'> = new WaitClock()) {
    this.#onOutcome = onOutcome;
    this.#clock = clock;
  }

  /**
   * Registers `model` as the one that answers this agent. If agents share a model, its calls cannot be distinguished,
   * and all of these agents are named.
   */
  addModel(model: unknown, agentName: string): void {
    const names = this.#agents.get(model) ?? new Set<string>();
    this.#agents.set(model, names.add(agentName));
  }

  /** Returns the names of the agents that were given this model. Undefined if there are none. */
  agentOf(model: unknown): string | undefined {
    const names = this.#agents.get(model);
    return names === undefined ? undefined : [...names].join(', ');
  }

  /** Begins a call. The returned function ends it. */
  begin(agentName: string, model: string, request: readonly ChatMessage[]): (outcome: CallOutcome) => void {
    const began = this.#now();
    const endWait = this.#clock.begin();
    const before = this.#histories.get(agentName) ?? [];
    const repeatedMessages = isBeginning(before, request) ? before.length : 0;
    const messages = request.slice(repeatedMessages);
    const end = (outcome: CallOutcome): void => {
      if (!this.#open.delete(end)) return;
      endWait();
      this.#onOutcome?.(agentName, 'error' in outcome ? outcome.error : undefined);
      const answer = 'answer' in outcome ? outcome.answer : null;
      this.#histories.set(agentName, answer === null ? request : [...request, answer]);
      const times = { beganMs: began, endedMs: this.#now() };
      const error = 'error' in outcome ? { error: toErrorMessage(outcome.error) } : {};
      this.#calls.push({ agentName, model, repeatedMessages, messages, answer, ...error, ...times });
    };
    this.#open.add(end);
    return end;
  }

  /** Ends the open calls, because they will not be answered after the episode. */
  close(): void {
    for (const end of this.#open) end({ error: new Error('The episode ended before the answer was read.') });
  }

  /** Calls in the order in which they ended. */
  get calls(): readonly UntrainedCall[] {
    return this.#calls;
  }

  /** The latest conversation of each agent. */
  transcripts(): readonly AgentTranscript[] {
    return [...this.#histories].map(([agentName, messages]) => ({ agentName, messages }));
  }

  #now(): number {
    return roundTime(performance.now() - this.#startedAt);
  }
}

function isBeginning(beginning: readonly ChatMessage[], messages: readonly ChatMessage[]): boolean {
  return (
    beginning.length <= messages.length &&
    beginning.every(({ role, content }, at) => role === messages[at]?.role && content === messages[at].content)
  );
}

const scope = new AsyncLocalStorage<UntrainedCalls>();
/**
 * Set while a recorded call runs. A framework's method may call another of its methods, and only the outer call is
 * recorded.
 */
const isInside = new AsyncLocalStorage<true>();

/** Runs an episode's code. While it runs, calls of models that do not learn are recorded in `calls`. */
export function recordUntrained<T>(calls: UntrainedCalls, work: () => T): T {
  return scope.run(calls, work);
}

/**
 * Records one call of `model` in any framework's format. The call belongs to the agent of the model if the episode
 * knows this agent, and otherwise to `agentName`.
 */
export function recordCall(model: unknown, args: readonly unknown[], call: () => unknown, agentName?: string): unknown {
  const calls = scope.getStore();
  const agent = calls?.agentOf(model) ?? agentName;
  if (calls === undefined || agent === undefined || isInside.getStore() === true) return call();
  const end = calls.begin(agent, nameOf(model), readMessages(args));
  return isInside.run(true, () => {
    try {
      return watchAnswer(call(), { end, inside: (work) => isInside.run(true, work) });
    } catch (error) {
      end({ error });
      throw error;
    }
  });
}

function nameOf(model: unknown): string {
  const { name, modelId, model: inner } = (model ?? {}) as Readonly<Record<'name' | 'modelId' | 'model', unknown>>;
  const named = [modelId, inner, name].find((value) => typeof value === 'string' && value !== '');
  return typeof named === 'string' ? named : 'unknown';
}
