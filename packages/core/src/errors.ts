/**
 * One base class, and one class for each boundary that an error can cross. Messages have three parts: what is wrong, the
 * value seen, and the repair. User code throws plain errors; the code that runs it wraps them in these classes.
 */

type ErrorOptions = { readonly cause?: unknown };

/** The base of every error of AgentJet. Programs rely on `code`, which does not change; the message is for people. */
export class AgentJetError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
  }
}

/** The configuration is wrong, and the program stops at start. Codes: `unknown_key`, `wrong_type`, `missing_file`, ... */
export class ConfigError extends AgentJetError {}

/** A task cannot be read. The message names file and line. */
export class TaskError extends AgentJetError {}

/** The user's workflow failed. The episode is kept as failed, with this as its error. */
export class WorkflowError extends AgentJetError {}

/** The judge failed or gave no usable verdict. */
export class JudgeError extends AgentJetError {}

/** A model call failed. Codes: `context_overflow`, `aborted`, `closed`, `bad_request`, `failed`. */
export class EngineError extends AgentJetError {}

/** The error of a model call that its caller aborted. */
export function abortedByCaller(caller: AbortSignal): EngineError {
  return new EngineError('aborted', 'The call was aborted by its caller.', { cause: caller.reason });
}

/** Whether `AbortSignal.timeout` ended a call. Its reason is a DOMException. */
export const isTimeoutReason = (cause: unknown): cause is DOMException =>
  cause instanceof DOMException && cause.name === 'TimeoutError';

/** Model files, training or checkpoints failed. Codes: `unsupported_model`, `bad_model_files`, `checkpoint`, `failed`, ... */
export class BackboneError extends AgentJetError {}

/**
 * An outside service failed, not the agent: a quota is used up, or a service is down. Throw it from a workflow, a tool or a judge: the attempt
 * is repeated and gets no reward. `host` names the service that failed; several failures of one host in a row pause the run.
 */
export class Outage extends AgentJetError {
  readonly host: string | undefined;

  constructor(message: string, options: ErrorOptions & { readonly host?: string } = {}) {
    super('outage', message, options);
    this.host = options.host;
  }
}

/**
 * An environment refused an action. The agent caused it, and a workflow may catch it and show it to the agent. Codes:
 * `refused` (an action that the environment does not accept), `limit` (the agent reached a limit), `time_over` (the time
 * of the agent is over, and the session can still be scored), `closed`. Two other codes are not the agent's fault:
 * `bad_answer` (the environment's answer cannot be used) and `not_opened` (it refuses the task).
 */
export class EnvironmentError extends AgentJetError {}

/** An environment could not be reached, or its session was lost. The attempt is repeated in a new session. */
export class EnvironmentOutage extends Outage {}

/** Returns the message of any thrown value. */
export function toErrorMessage(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'a value that cannot be shown was thrown'; // a proxy, or an object without a prototype
  }
}

/** The last commit that can read files in formats older than the present ones. */
const lastReader = 'e2a79bc1';

/** Returns the message that refuses a file or a folder of an older version. */
export const tellOlderFormat = (what: string): string =>
  `${what} was written in an older format, which this version does not read. Read it with AgentJet at commit ${lastReader}, or begin a new run.`;

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

/** Returns the code of an error, such as ENOENT of the file system. Undefined if there is none. */
export function codeOfError(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** Whether a file cannot be written because the disk, or the quota of the user, is full. */
export const isDiskFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOfError(error) ?? '');

/** Returns the code and the reason for an error of writing to a cache. The reason continues with the repair. */
export function explainCacheError(error: unknown): { readonly code: string; readonly reason: string } {
  if (isDiskFull(error)) return { code: 'disk_full', reason: 'the disk is full. Free some space' };
  return { code: 'cache_unwritable', reason: `${toErrorMessage(error)}. Make it writable` };
}
