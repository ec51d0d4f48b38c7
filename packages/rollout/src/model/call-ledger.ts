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
import { countToolResults } from './tool-errors.js';

const maxKeptAnswers = 64;

/** The counts of an episode that called no model. */
export const noCalls: CallCounts = {
  answered: 0,
  aborted: 0,
  failed: 0,
  untrained: 0,
  repeated: 0,
  truncated: 0,
  withTools: 0,
  callingTools: 0,
  malformedToolCalls: 0,
  malformedArguments: 0,
  unknownTools: 0,
  malformedJson: 0,
};

/** A request with an id: the hashes of its parts, and its answer, which may be pending. */
type KeptAnswer = { readonly print: RequestPrint; readonly answer: Promise<ChatResponse> };

/**
 * State that the calls of one episode share: their numbers (which determine their seeds), the answers for repeated
 * requests, and the counts. A repeated request gets the answer of the first request, even if that answer is still
 * pending, and never makes a second sample. A call that failed or was aborted is forgotten, so its retry is a new
 * attempt.
 */
export class CallLedger {
  readonly #counts = { ...noCalls };
  readonly #tools: { results: number; errors: number; firstError?: string } = { results: 0, errors: 0 };
  readonly #nextIndex = new Map<string, number>();
  readonly #answers = new Map<string, KeptAnswer>();
  /** Keys of finished answers, the oldest first. */
  readonly #answered: string[] = [];

  readonly #ignored: Record<string, Record<string, number>> = {};

  /** Messages of failed calls, the newest last. */
  readonly #failures: FailedCall[] = [];

  /** The error of the call that ended last. Undefined if that call was answered. */
  #lastError: unknown;

  /** The number of answers that the tracker has recorded. */
  numCommitted = 0;

  countFailure(agentName: string, error: unknown): void {
    this.#counts.failed++;
    this.noteFailure(agentName, error);
  }

  /** Records a failed call that is counted elsewhere, because its model does not learn. */
  noteFailure(agentName: string, error: unknown): void {
    this.#failures.push({ agentName, message: toErrorMessage(error), error });
    this.#lastError = error;
  }

  /** Failed calls, the newest last. */
  get failures(): readonly FailedCall[] {
    return this.#failures;
  }

  /**
   * Begins a call that a framework makes. Call the returned function with the error that the framework threw. It counts
   * errors that were thrown before the model was asked, such as a refused option. The model counts all other errors
   * itself.
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

  /**
   * Returns the agent of a failed call whose message occurs in this text. The message is compared because frameworks
   * and HTTP clients pass on nothing else.
   */
  failedAgent(text: string): string | undefined {
    return this.#failures.findLast(({ message }) => message !== '' && text.includes(message))?.agentName;
  }

  /**
   * Returns the cause of the outage if the text contains the message of a call that was lost to an outage, or if the
   * episode's last call was lost. A failure right after a lost call is attributed to that call.
   */
  lostTo(text: string): OutageCause | undefined {
    const told = this.#failures
      .filter(({ message }) => message !== '' && text.includes(message))
      .map(({ error }) => error);
    return [this.#lastError, ...told.toReversed()].map(outageOf).find((outage) => outage !== undefined);
  }

  /** Counts by agent and parameter name. */
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
    const { results: toolResults, errors: toolErrors, firstError } = this.#tools;
    return {
      ...this.#counts,
      ...(toolResults > 0 && { toolResults, toolErrors }),
      ...(firstError !== undefined && { firstToolError: firstError }),
    };
  }

  /** Returns the number of the agent's next call: 0, 1, 2, and so on. */
  takeIndex(agentName: string): number {
    const index = this.#nextIndex.get(agentName) ?? 0;
    this.#nextIndex.set(agentName, index + 1);
    return index;
  }

  /** Continues the numbering after the number of a recorded call. */
  skipIndex(agentName: string, index: number): void {
    this.#nextIndex.set(agentName, Math.max(this.#nextIndex.get(agentName) ?? 0, index + 1));
  }

  /** Returns the finished or pending answer of an earlier request with this key. */
  findRepeat(key: string): KeptAnswer | undefined {
    return this.#answers.get(key);
  }

  /**
   * Keeps an answer for retries. Only the latest finished answers are kept, because a client retries soon or not at
   * all.
   */
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
    this.#counts.withTools += Number(tools.size > 0);
    this.#counts.callingTools += Number(toolCalls.length > 0);
    this.#counts.malformedToolCalls += response.malformedToolCalls ?? 0;
    this.#counts.malformedArguments += toolCalls.filter((call) => isMalformed(call, tools.get(call.name))).length;
    this.#counts.unknownTools += toolCalls.filter((call) => !tools.has(call.name)).length;
    const { results, errors, firstError } = countToolResults(request);
    this.#tools.results += results;
    this.#tools.errors += errors;
    if (firstError !== undefined) this.#tools.firstError ??= firstError;
    this.#counts.malformedJson += Number(
      toolCalls.length === 0 && isMalformedJson(request.responseFormat, message.content),
    );
  }
}

/** True if the arguments are not a JSON object or do not match the parameters of their tool. */
function isMalformed(call: ToolCall, tool: ToolSpec | undefined): boolean {
  const args = parseJsonObject(call.arguments);
  return args === undefined || (tool !== undefined && findMismatch(tool.parameters, args) !== undefined);
}
