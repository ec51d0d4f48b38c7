import { AgentJetError, toErrorMessage, WorkflowError } from '@agentjet/core';
import { userFrames } from '../user-frames.js';
import { isAborted, outageOf, type OutageCause } from '../outage/outage-of.js';

export type EpisodeError = {
  readonly code: string;
  /** With the messages of all causes. */
  readonly message: string;
  /** The agent whose call failed, if that is known. */
  readonly agent?: string;
  /** The innermost line of the user's own code, as in a stack. */
  readonly place?: string;
  readonly stack?: string;
  /** Set if the world failed, not the agent: such an episode is never a reward, under any policy. */
  readonly outage?: Pick<OutageCause, 'source' | 'host'>;
};

/** What is known of the model calls of an episode that failed. Over HTTP, and from programs, only words come back. */
type FailedCalls = {
  /** The agent whose failed call this text tells of. */
  readonly failedAgent?: (text: string) => string | undefined;
  /** Who failed, if this text tells of a call that was lost to the world, or the last call of the episode was. */
  readonly lostTo?: (text: string) => OutageCause | undefined;
};

/** Codes of a judge or an environment that is broken or missing: not the agent's failure either, but nothing that another attempt repairs. */
const othersCodes: ReadonlySet<string> = new Set([
  'judge_failed',
  'bad_verdict',
  'no_judge',
  'bad_answer',
  'not_opened',
]);

/** True if the agent itself failed: only that may count as a wrong answer. */
export function isAgentsFailure({ code, outage }: EpisodeError): boolean {
  return outage === undefined && !othersCodes.has(code);
}

/**
 * Why an episode failed, as data. An error of ours speaks for itself, also where a framework has wrapped it; any
 * other is the user's, and keeps the stack of the user's own line.
 */
export function toEpisodeError(thrown: unknown, { failedAgent, lostTo }: FailedCalls = {}): EpisodeError {
  const error =
    findOwnError(thrown) ??
    new WorkflowError('workflow_failed', `The workflow threw ${describe(thrown)}`, { cause: thrown });
  const stacks = [stackOf(error.cause), stackOf(thrown), error.stack, ...chainOf(thrown).map(stackOf)];
  const stack = stacks.find((text) => text !== undefined);
  const place = stacks
    .flatMap((text) => userFrames(text))
    .at(0)
    ?.trim();
  const message = withCauses(error);
  const text = [message, ...chainOf(thrown).map(toErrorMessage)].join('\n');
  const agent = failedAgent?.(text);
  const isUsers = error.code === 'workflow_failed' && !isAborted(thrown);
  const outage = outageOf(thrown) ?? (isUsers ? lostTo?.(text) : undefined);
  return {
    code: error.code,
    message,
    ...(agent === undefined ? {} : { agent }),
    ...(place === undefined ? {} : { place }),
    ...(stack === undefined ? {} : { stack }),
    ...(outage === undefined ? {} : { outage: { source: outage.source, host: outage.host } }),
  };
}

/** "fetch failed" says nothing: the reason is in its cause, or in the cause of that. */
function withCauses(error: Error): string {
  let text = error.message;
  for (const cause of chainOf(error.cause)) {
    const causeText = describeCause(cause);
    if (!text.includes(toErrorMessage(cause)) || !text.includes(codeOf(cause) ?? '')) text += ` Caused by ${causeText}`;
  }
  return text;
}

function describeCause(cause: unknown): string {
  const code = codeOf(cause);
  return `${describe(cause)}${code === undefined ? '' : ` (${code})`}`;
}

/** Of errors of the system and of clients, such as ECONNREFUSED. */
function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && !(error instanceof AgentJetError) ? code : undefined;
}

/** The error, its cause, the cause of that, and so on. */
function chainOf(thrown: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let error = thrown; error !== undefined && error !== null && chain.length < 10 && !chain.includes(error); ) {
    chain.push(error);
    error = error instanceof Error ? error.cause : undefined;
  }
  return chain;
}

/** Frameworks keep what a model call threw as the `cause` of an error of their own. */
function findOwnError(thrown: unknown): AgentJetError | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 10; error = error.cause, depth++) {
    if (error instanceof AgentJetError) return error;
  }
  return undefined;
}

function describe(thrown: unknown): string {
  return thrown instanceof Error
    ? `${thrown.name}: ${toErrorMessage(thrown)}`
    : `a value that is no Error: ${toErrorMessage(thrown)}`;
}

function stackOf(thrown: unknown): string | undefined {
  return thrown instanceof Error ? thrown.stack : undefined;
}
