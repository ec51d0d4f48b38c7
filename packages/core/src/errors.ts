/**
 * One base class, and one class for each boundary crossed. Messages say what is wrong, the value seen and the
 * repair. User code throws plain errors; whoever runs it wraps them here.
 */

type ErrorOptions = { readonly cause?: unknown };

/** Every error of ours. `code` is for programs and stays; the message is for people. */
export class AgentJetError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
  }
}

/** A wrong configuration: stops the program at start. Codes: `unknown_key`, `wrong_type`, `missing_file`, ... */
export class ConfigError extends AgentJetError {}

/** Tasks that cannot be read: file and line in the message. */
export class TaskError extends AgentJetError {}

/** The user's workflow failed; the episode is kept as failed with this as its error. */
export class WorkflowError extends AgentJetError {}

/** The judge failed or gave no usable verdict. */
export class JudgeError extends AgentJetError {}

/** A model call failed. Codes: `context_overflow`, `aborted`, `closed`, `bad_request`, `failed`. */
export class EngineError extends AgentJetError {}

/** Model files, training or checkpoints failed. Codes: `unsupported_model`, `bad_model_files`, `checkpoint`, `failed`, ... */
export class BackboneError extends AgentJetError {}

/**
 * The world failed, not the agent: a quota is used up, a service is down. Throw it from a workflow, a tool or a judge: the attempt
 * is made again and is never a reward. `host` names who failed; several failures in a row of one host pause the run.
 */
export class Outage extends AgentJetError {
  readonly host: string | undefined;

  constructor(message: string, options: ErrorOptions & { readonly host?: string } = {}) {
    super('outage', message, options);
    this.host = options.host;
  }
}

/**
 * An environment refused what the agent did: that is the agent's failure, and a workflow may catch it and tell the agent. Codes:
 * `refused` (an action that the environment cannot take), `limit` (a limit that the agent reached), `closed`. Two are
 * nobody's wrong answer: `bad_answer` (what it gave cannot be used) and `not_opened` (it refuses the task).
 */
export class EnvironmentError extends AgentJetError {}

/** An environment could not be reached, or its session was lost: the attempt is made again in a new session. */
export class EnvironmentOutage extends Outage {}

/** The message of anything thrown. */
export function toErrorMessage(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'a value that cannot be shown was thrown'; // a proxy, or an object without a prototype
  }
}

/** The last commit that reads what versions before the present formats wrote. */
const lastReader = 'e2a79bc1';

/** Why a file or a folder of an older version is refused, with the repair. */
export const tellOlderFormat = (what: string): string =>
  `${what} was written in an older format, which this version does not read. Read it with AgentJet at commit ${lastReader}, or begin a new run.`;
