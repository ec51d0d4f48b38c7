import {
  ConfigError,
  type Task,
  type ToolSpec,
  type Verdict,
  type CommonConfig,
  type Registration,
  type z,
} from '@agentjet/core';

/** A world that agents act in: a program in this process, or a server. An episode acts in a session of it. */
export interface Environment {
  /** How it is called in messages: a host, or a few words. */
  readonly name?: string;
  /** Tasks of a split, in their order, for environments that have tasks. */
  tasks?(split: string): AsyncIterable<Task>;
  /**
   * Opens a session for the task. If this rejects, nothing is left open. Rejects with EnvironmentOutage if the
   * environment cannot be reached.
   */
  open(task: Task, options: OpenSessionOptions): Promise<Session>;
  /** Called once, after the last session was closed. */
  close?(): Promise<void> | void;
}

export type OpenSessionOptions = {
  /** The same for all episodes of a task, which must begin in the same state. */
  readonly seed: number;
  /** Aborts when nobody waits for the session any more. */
  readonly signal: AbortSignal;
  /** Unique within the run. */
  readonly episodeId: string;
};

/**
 * One episode's part of the world. `step` and `call` are sent once and never again: a session whose answer got lost is over, and says
 * so with EnvironmentOutage. What the agent did wrong rejects with EnvironmentError `refused` or `limit`; the session goes on.
 */
export interface Session {
  /** What the agent sees first. */
  readonly observation: Observation;
  /** For the agent; empty in a world of steps. */
  readonly tools: readonly ToolSpec[];
  step?(action: Action): Promise<StepResult>;
  call?(tool: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult>;
  /** How well the agent did so far. */
  evaluate?(): Promise<Verdict>;
  /** Ends the session, and every call of it that is under way. A second call does nothing. */
  close(): Promise<void> | void;
}

export type Observation = {
  /** In words, for an agent. */
  readonly text: string;
  /** The conversation that the environment begins with; for protocols that have one. */
  readonly messages?: Task['initMessages'];
  /** As the environment gave it. */
  readonly data?: unknown;
};

/** Words of the agent, or an object in the form that the environment asks for. */
export type Action = string | Readonly<Record<string, unknown>>;

export type StepResult = {
  readonly observation: Observation;
  /** For this step; null if the environment does not say. */
  readonly reward: number | null;
  /** Whether the episode is over. */
  readonly isDone: boolean;
  readonly info?: unknown;
};

export type ToolResult = {
  /** For the agent, errors of the tool included. */
  readonly text: string;
  /** As the environment gave it. */
  readonly data?: unknown;
  /** The tool says that the call was wrong. */
  readonly isError?: boolean;
};

/** What `tuner.openEnvironment` gives: a session that has every method, and knows when its episode is over. */
export type OpenSession = Required<Pick<Session, 'observation' | 'tools' | 'step' | 'call' | 'evaluate'>> & {
  close(): Promise<void>;
};

/** An environment from what a user's module exports: an object, or a class. Throws ConfigError. */
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

/** What every environment is opened with besides its own section. */
export type EnvironmentParts = { readonly config: CommonConfig };

export type EnvironmentRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, EnvironmentParts, Environment, Flat>;

/** An environment that `environment.protocol:` may name, or that `setEnvironment()` takes. */
export function defineEnvironment<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: EnvironmentRegistration<Name, Section, Flat>,
): EnvironmentRegistration<Name, Section, Flat> {
  return registration;
}
