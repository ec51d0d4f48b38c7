import { AgentJetError, toErrorMessage, WorkflowError, codeOfError } from '@agentjet/core';
import { userFrames } from '../user-frames.js';
import { isAborted, outageOf, type OutageCause } from '../outage/outage-of.js';

export type EpisodeError = {
  readonly code: string;
  /** The message, followed by the messages of all causes. */
  readonly message: string;
  /** The agent whose call failed, if it is known. */
  readonly agent?: string;
  /** The innermost stack line in the user's own code. */
  readonly place?: string;
  readonly stack?: string;
  /**
   * Set if an outage caused the failure. The agent is then not at fault, so the episode never gets a reward, under any
   * policy for failed episodes.
   */
  readonly outage?: Pick<OutageCause, 'source' | 'host'>;
};

/**
 * Facts about the model calls of a failed episode. Errors that pass through HTTP or a program keep only their message.
 */
type FailedCalls = {
  /** Returns the agent of a failed call whose message occurs in this text. */
  readonly failedAgent?: (text: string) => string | undefined;
  /**
   * Returns the cause of the outage if the text contains the message of a call that was lost to an outage, or if the
   * episode's last call was lost.
   */
  readonly lostTo?: (text: string) => OutageCause | undefined;
};

/**
 * Describes why an episode failed, as data. An error of AgentJet is used as it is, even if a framework has wrapped it.
 * Any other error comes from the user's code, and keeps the lines of its stack that are in that code.
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

/** Appends the causes, because "fetch failed" alone says nothing. */
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

/** Returns the code of a system error or of a client's error, such as ECONNREFUSED. */
const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && !(error instanceof AgentJetError) ? codeOfError(error) : undefined;

/** Lists the error, its cause, the cause of that, and so on. */
function chainOf(thrown: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let error = thrown; error !== undefined && error !== null && chain.length < 10 && !chain.includes(error); ) {
    chain.push(error);
    error = error instanceof Error ? error.cause : undefined;
  }
  return chain;
}

/**
 * Finds an error of AgentJet among the causes, because frameworks throw their own error and keep the error of a model
 * call as its `cause`.
 */
function findOwnError(thrown: unknown): AgentJetError | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 10; error = error.cause, depth++) {
    if (error instanceof AgentJetError) return error;
  }
  return undefined;
}

function describe(thrown: unknown): string {
  return thrown instanceof Error
    ? `${thrown.name}: ${toErrorMessage(thrown)}`
    : `a value that is not an Error: ${toErrorMessage(thrown)}`;
}

function stackOf(thrown: unknown): string | undefined {
  return thrown instanceof Error ? thrown.stack : undefined;
}
