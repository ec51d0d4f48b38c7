import { AgentJetError, toErrorMessage, WorkflowError } from '@agentjet/core';
import { outageOf, type OutageCause } from '../outage/outage-of.js';

export type EpisodeError = {
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
  /** Set if the world failed, not the agent: such an episode is never a reward, under any policy. */
  readonly outage?: Pick<OutageCause, 'source' | 'host'>;
};

/** Codes of a judge that is broken or missing: not the agent's failure either, but nothing that another attempt repairs. */
const judgeCodes: ReadonlySet<string> = new Set(['judge_failed', 'bad_verdict', 'no_judge']);

/** True if the agent itself failed: only that may count as a wrong answer. */
export function isAgentsFailure({ code, outage }: EpisodeError): boolean {
  return outage === undefined && !judgeCodes.has(code);
}

/**
 * Why an episode failed, as data. An error of ours speaks for itself, also where a framework has wrapped it; any
 * other is the user's, and keeps the stack of the user's own line.
 */
export function toEpisodeError(thrown: unknown): EpisodeError {
  const error =
    findOwnError(thrown) ??
    new WorkflowError('workflow_failed', `The workflow threw ${describe(thrown)}`, { cause: thrown });
  const stack = stackOf(error.cause) ?? stackOf(thrown) ?? error.stack;
  const outage = outageOf(thrown);
  return {
    code: error.code,
    message: error.message,
    ...(stack === undefined ? {} : { stack }),
    ...(outage === undefined ? {} : { outage: { source: outage.source, host: outage.host } }),
  };
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
