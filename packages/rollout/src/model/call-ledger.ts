import {
  parseJsonObject,
  toErrorMessage,
  type ChatRequest,
  type ChatResponse,
  type ToolCall,
  type ToolSpec,
} from '@agentjet/core';
import type { CountsByAgent } from '@agentjet/context-tracker';
import type { CallCounts } from '../contract.js';
import type { FailedCall } from '../episode/swallowed-errors.js';
import { isAborted, outageOf, type OutageCause } from '../outage/outage-of.js';
import type { RequestPrint } from './request-print.js';
import { isMalformedJson } from './response-format.js';
import { findMismatch } from './schema-mismatch.js';

const maxKeptAnswers = 64;

/** The counts of an episode that asked no model. */
export const noCalls: CallCounts = {
  answered: 0,
  aborted: 0,
  failed: 0,
  untrained: 0,
  repeated: 0,
  truncated: 0,
  malformedToolCalls: 0,
  malformedArguments: 0,
  unknownTools: 0,
  malformedJson: 0,
};

/** The answer that a request with an id has or is getting, and what the request was. */
type KeptAnswer = { readonly print: RequestPrint; readonly answer: Promise<ChatResponse> };

/**
 * What the calls of one episode share: their numbering (which makes their seeds), the answers that a client's retry
 * is owed, and the counts. A repeated request gets the first one's answer, in flight or done, and never a second
 * sample; a call that failed or was aborted is forgotten, so that its retry is a new attempt.
 */
export class CallLedger {
  readonly #counts = { ...noCalls };
  readonly #nextIndex = new Map<string, number>();
  readonly #answers = new Map<string, KeptAnswer>();
  /** Keys of answers that are there, the oldest first. */
  readonly #answered: string[] = [];

  readonly #ignored: Record<string, Record<string, number>> = {};

  /** Messages of failed calls, the newest last. */
  readonly #failures: FailedCall[] = [];

  /** What the call that ended last threw; undefined if it was answered. */
  #lastError: unknown;

  /** Answers that the tracker has recorded. */
  numCommitted = 0;

  countFailure(agentName: string, error: unknown): void {
    this.#counts.failed++;
    this.noteFailure(agentName, error);
  }

  /** A call that is counted elsewhere: of a model that does not learn. */
  noteFailure(agentName: string, error: unknown): void {
    this.#failures.push({ agentName, message: toErrorMessage(error), error });
    this.#lastError = error;
  }

  /** Calls that failed, the newest last. */
  get failures(): readonly FailedCall[] {
    return this.#failures;
  }

  /**
   * Begins a call that a framework makes. Call the function that it returns with the error that the framework threw. It counts errors that
   * came before the model was asked, such as a refused option; the model itself counts all others.
   */
  watchCall(agentName: string): (error: unknown) => void {
    const numEnded = (): number => this.#failures.length + this.#counts.aborted;
    const before = numEnded();
    return (error) => {
      if (numEnded() === before && !isAborted(error)) this.countFailure(agentName, error);
    };
  }

  noteAnswer(): void {
    this.#lastError = undefined;
  }

  /** Whose call failed with a message that this text repeats: frameworks and HTTP clients pass on nothing else. */
  failedAgent(text: string): string | undefined {
    return this.#failures.findLast(({ message }) => message !== '' && text.includes(message))?.agentName;
  }

  /**
   * Who failed, if this text repeats the message of a call that was lost to the world, or if the last call of the episode was: what
   * fails right after it fails because of it.
   */
  lostTo(text: string): OutageCause | undefined {
    const told = this.#failures
      .filter(({ message }) => message !== '' && text.includes(message))
      .map(({ error }) => error);
    return [this.#lastError, ...told.toReversed()].map(outageOf).find((outage) => outage !== undefined);
  }

  /** By agent and name. */
  get ignoredParameters(): CountsByAgent<string> {
    return Object.fromEntries(Object.entries(this.#ignored).map(([agentName, counts]) => [agentName, { ...counts }]));
  }

  countIgnored(agentName: string, names: readonly string[]): void {
    for (const name of names) {
      const counts = (this.#ignored[agentName] ??= {});
      counts[name] = (counts[name] ?? 0) + 1;
    }
  }

  get counts(): CallCounts {
    return { ...this.#counts };
  }

  /** 0, 1, 2, ... for each agent. */
  takeIndex(agentName: string): number {
    const index = this.#nextIndex.get(agentName) ?? 0;
    this.#nextIndex.set(agentName, index + 1);
    return index;
  }

  /** Goes on after a number that a recorded call had. */
  skipIndex(agentName: string, index: number): void {
    this.#nextIndex.set(agentName, Math.max(this.#nextIndex.get(agentName) ?? 0, index + 1));
  }

  /** The answer that a request with this key already has or is getting. */
  findRepeat(key: string): KeptAnswer | undefined {
    return this.#answers.get(key);
  }

  /** Of answers that are there only the latest are kept: retries come soon or never. */
  remember(key: string, kept: KeptAnswer): void {
    this.#answers.set(key, kept);
    kept.answer.then(
      () => {
        this.#answered.push(key);
        if (this.#answered.length > maxKeptAnswers) this.#answers.delete(this.#answered.shift() ?? '');
      },
      () => this.#answers.delete(key),
    );
  }

  count(outcome: 'aborted' | 'repeated' | 'untrained'): void {
    this.#counts[outcome]++;
  }

  countAnswer(request: ChatRequest, response: ChatResponse): void {
    const { message } = response;
    const toolCalls = message.toolCalls ?? [];
    const tools = new Map(request.tools?.map((tool) => [tool.name, tool]));
    this.noteAnswer();
    this.#counts.answered++;
    this.#counts.truncated += Number(response.finishReason === 'length');
    this.#counts.malformedToolCalls += response.malformedToolCalls ?? 0;
    this.#counts.malformedArguments += toolCalls.filter((call) => isMalformed(call, tools.get(call.name))).length;
    this.#counts.unknownTools += toolCalls.filter((call) => !tools.has(call.name)).length;
    this.#counts.malformedJson += Number(
      toolCalls.length === 0 && isMalformedJson(request.responseFormat, message.content),
    );
  }
}

/** Arguments that are not a JSON object, or that the parameters of their tool do not allow. */
function isMalformed(call: ToolCall, tool: ToolSpec | undefined): boolean {
  const args = parseJsonObject(call.arguments);
  return args === undefined || (tool !== undefined && findMismatch(tool.parameters, args) !== undefined);
}
