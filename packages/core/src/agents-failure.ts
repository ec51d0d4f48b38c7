/**
 * Codes of errors that mean that a judge or an environment is broken or missing, or that a task cannot be given to the
 * agent. The agent did not fail then, but another attempt would not help.
 */
const othersCodes: ReadonlySet<string> = new Set([
  'judge_failed',
  'bad_verdict',
  'no_judge',
  'bad_answer',
  'not_opened',
  'task_refused',
]);

/** True if the agent itself failed. Only such a failure may count as a wrong answer. */
export function isAgentsFailure({ code, outage }: { readonly code: string; readonly outage?: unknown }): boolean {
  return outage === undefined && !othersCodes.has(code);
}
