import { AgentJetError, toErrorMessage, WorkflowError } from '@agentjet/core';

export type EpisodeError = { readonly code: string; readonly message: string; readonly stack?: string };

/**
 * Why an episode failed, as data. An error of ours speaks for itself, also where a framework has wrapped it; any
 * other is the user's, and keeps the stack of the user's own line.
 */
export function toEpisodeError(thrown: unknown): EpisodeError {
  const error =
    findOwnError(thrown) ??
    new WorkflowError('workflow_failed', `The workflow threw ${describe(thrown)}`, { cause: thrown });
  const stack = stackOf(error.cause) ?? stackOf(thrown) ?? error.stack;
  return { code: error.code, message: error.message, ...(stack === undefined ? {} : { stack }) };
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
