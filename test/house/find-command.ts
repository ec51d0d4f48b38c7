import { createProgram } from '@agentjet/cli';

/** Returns the command of `ajet` with these names, such as `swarm serve`, or undefined if there is none. */
export const findCommand = (names: readonly string[]) =>
  names.reduce<ReturnType<typeof createProgram> | undefined>(
    (found, name) => found?.commands.find((each) => each.name() === name),
    createProgram(() => {}),
  );
