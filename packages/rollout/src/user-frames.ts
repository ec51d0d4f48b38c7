import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';

/**
 * The folders that contain our packages. In a user's node_modules only the first one exists. Our repository has all
 * three.
 */
const ourFolders = ['../..', '../../../adapters', '../../../trainer'].map(
  (folder) => path.resolve(import.meta.dirname, folder) + path.sep,
);

function framesOf(stack: string | undefined): readonly string[] {
  return (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
}

/** The stack lines in the user's own code, innermost first. */
export function userFrames(stack: string | undefined): readonly string[] {
  // Rejects lines such as `async Promise.all (index 0)`.
  const isPlace = (line: string): boolean => /:\d+:\d+\)?$/.test(line);
  const isUsers = (line: string): boolean =>
    isPlace(line) &&
    !/node:|node_modules|<anonymous>:\d/.test(line) &&
    !ourFolders.some((folder) => line.includes(folder));
  return framesOf(stack).filter(isUsers).slice(0, 5);
}

/**
 * Returns where an episode failed, innermost first. If the workflow itself threw, it returns eight lines of the stack
 * and the user's first line. Otherwise it returns only the lines in the user's code.
 */
export function failureFrames({
  code,
  stack,
}: {
  readonly code: string;
  readonly stack?: string | undefined;
}): readonly string[] {
  if (code !== 'workflow_failed') return userFrames(stack);
  const innermost = framesOf(stack).slice(0, 8);
  return [
    ...innermost,
    ...userFrames(stack)
      .slice(0, 1)
      .filter((line) => !innermost.includes(line)),
  ];
}

/**
 * Returns the line that says most about where an episode failed: the user's innermost line, or the innermost line of
 * all if none is the user's.
 */
export function failurePlace(error: {
  readonly code: string;
  readonly stack?: string | undefined;
}): string | undefined {
  return userFrames(error.stack)[0] ?? failureFrames(error)[0];
}

/**
 * Returns a message that says what failed, why, and where in the user's code. Without the location, a message such as
 * "x is not defined" does not help.
 */
export function withUserFrames(what: string, error: unknown): string {
  return [`${what}: ${toErrorMessage(error)}`, ...userFrames(error instanceof Error ? error.stack : undefined)].join(
    '\n',
  );
}
