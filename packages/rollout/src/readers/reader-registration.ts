import type { CommonConfig, Registration, z } from '@agentjet/core';
import type { Environment } from '../environment/environment.js';
import type { TaskReader } from '../tasks/task-reader.js';

/** What every task reader is opened with besides its own section. */
export type ReaderParts = {
  readonly config: CommonConfig;
  /** What `environment.protocol` names, or code gave. */
  readonly environment?: Environment | undefined;
  /** Told what a person should know while tasks are read, such as how far it is. */
  readonly onNotice?: ((message: string) => void) | undefined;
  /** Ends the reading of tasks, which may take long. */
  readonly signal?: AbortSignal | undefined;
};

export type ReaderRegistration<
  Name extends string = string,
  Section extends z.ZodObject = z.ZodObject,
  Flat extends boolean = boolean,
> = Registration<Name, Section, ReaderParts, TaskReader, Flat>;

/** A reader that `task_reader.type:` may name, or that `setData()` takes. */
export function defineReader<const Name extends string, Section extends z.ZodObject, Flat extends boolean = false>(
  registration: ReaderRegistration<Name, Section, Flat>,
): ReaderRegistration<Name, Section, Flat> {
  return registration;
}
