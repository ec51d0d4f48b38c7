import {
  ConfigError,
  type Task,
  type ToolSpec,
  type Verdict,
  type CommonConfig,
  type Registration,
  type z,
} from '@agentjet/core';
import type { OpenAIEndpoint } from '../contract.js';

/** A world that agents act in: a program in this process or a server. Each episode acts in a session of it. */
export interface Environment {
  /** The name that messages use: a host or a few words. */
  readonly name?: string;
  /** Yields the tasks of a split in order, if the environment has tasks. */
  tasks?(split: string): AsyncIterable<Task>;
  /**
   * Opens a session for the task. Rejects with EnvironmentOutage if the environment cannot be reached. A rejected call
   * must leave nothing open.
   */
  open(task: Task, options: OpenSessionOptions): Promise<Session>;
  /**
   * The time that sessions of this task may need, in seconds, if the environment knows it. The longer of this and the
   * setting applies.
   */
  limits?(task: Task): Promise<SessionLimits> | SessionLimits;
  /** Called once, after the last session was closed. */
  close?(): Promise<void> | void;
}

export type SessionLimits = { readonly open?: number; readonly call?: number; readonly evaluate?: number };

export type OpenSessionOptions = {
  /** The seed of the task. All episodes of a task have the same seed, because they must begin in the same state. */
  readonly seed: number;
  /** Aborts when nobody waits for the session any longer. */
  readonly signal: AbortSignal;
  /** Unique within the run. */
  readonly episodeId: string;
};

/**
 * The part of an environment that one episode acts in. `step` and `call` are sent once and never repeated. If an answer
 * is lost, the call rejects with EnvironmentOutage, and the session is over. If the agent makes a mistake, the call
 * rejects with EnvironmentError `refused` or `limit`, and the session stays usable.
 */
export interface Session {
  /** The first observation of the agent. */
  readonly observation: Observation;
  /** The tools for the agent. Empty in an environment that is used with `step`. */
  readonly tools: readonly ToolSpec[];
  /** The servers of tools that programs inside of the environment can start or reach. Default: none. */
  readonly toolServers?: readonly ToolServer[];
  step?(action: Action): Promise<StepResult>;
  call?(tool: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult>;
  /** Lets programs inside of the environment reach the endpoint, and returns the address that they use. */
  connect?(endpoint: OpenAIEndpoint): Promise<OpenAIEndpoint>;
  /** Runs a program inside of the environment to its end. */
  run?(order: ProgramOrder): Promise<ProgramResult>;
  /** Scores what the agent has done so far. */
  evaluate?(): Promise<Verdict>;
  /** Ends the session and all of its running calls. A second call does nothing. */
  close(): Promise<void> | void;
}

/** What an agent sees of its environment after a reset or an action. */
export type Observation = {
  /** The observation in words, for an agent. */
  readonly text: string;
  /** The conversation that the environment begins with, for protocols that have one. */
  readonly messages?: Task['initMessages'];
  /** The observation in the environment's own form. */
  readonly data?: unknown;
};

/** Words of the agent, or an object in the form that the environment expects. */
export type Action = string | Readonly<Record<string, unknown>>;

/** The result of one action. */
export type StepResult = {
  readonly observation: Observation;
  /** The reward of this step. Null if the environment gives none. */
  readonly reward: number | null;
  /** Whether the episode is over. */
  readonly isDone: boolean;
  readonly info?: unknown;
};

/** The result of one tool call. */
export type ToolResult = {
  /** The result for the agent, including errors of the tool. */
  readonly text: string;
  /** The result in the environment's own form. */
  readonly data?: unknown;
  /** True if the tool rejected the call as wrong. */
  readonly isError?: boolean;
};

/** A server of the Model Context Protocol: a program, or an address. */
export type ToolServer =
  | {
      readonly name: string;
      readonly transport: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
    }
  | {
      readonly name: string;
      readonly transport: 'sse' | 'streamable-http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** A program, such as a coding agent, that runs inside of an environment. */
export type ProgramOrder = {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Contents of files, by their absolute paths in the environment. They are written before the program starts. */
  readonly files?: Readonly<Record<string, string>>;
  readonly stdin?: string;
};

export type ProgramResult = {
  /** Null if a signal or the time limit ended the program. */
  readonly status: number | null;
  /** What it printed. The middle of a long output is left out. */
  readonly output: string;
  /** True if the agent's time was over. */
  readonly isOutOfTime: boolean;
};

/** A session from `tuner.openEnvironment`. It has every method, and it ends with its episode. */
export type OpenSession = Required<
  Pick<Session, 'observation' | 'tools' | 'toolServers' | 'step' | 'call' | 'connect' | 'run' | 'evaluate'>
> & {
  close(): Promise<void>;
};

/** Creates an environment from the export of a user's module: an object or a class. Throws ConfigError. */
export function createEnvironment(value: unknown, where: string): Environment {
  const made = isClass(value) ? Reflect.construct(value, []) : value;
  if (typeof made === 'object' && made !== null && 'open' in made && typeof made.open === 'function')
    return made as Environment;
  throw new ConfigError(
    'bad_environment',
    `${where} is not an environment: it has no method open(task, options). Add one that returns a session { observation, tools, step, close }.`,
  );
}

function isClass(value: unknown): value is new () => unknown {
  return (
    typeof value === 'function' &&
    (Function.prototype.toString.call(value).startsWith('class') || typeof value.prototype?.open === 'function')
  );
}

/** The arguments that every environment is opened with, in addition to its own section of the configuration. */
export type EnvironmentParts = { readonly config: CommonConfig };

/** What `defineEnvironment` returns: the name, the settings and the parts of an environment. */
export type EnvironmentRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, EnvironmentParts, Environment, Flat>;

/** Defines an environment for `environment.protocol` and `setEnvironment()`. */
export function defineEnvironment<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: EnvironmentRegistration<Name, Section, Flat>,
): EnvironmentRegistration<Name, Section, Flat> {
  return registration;
}
