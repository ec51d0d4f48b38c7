import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';

/**
 * The folders that hold our packages. Among a user's node_modules only the first exists; our repository has all three.
 */
const ourFolders = ['../..', '../../../adapters', '../../../trainer'].map(
  (folder) => path.resolve(import.meta.dirname, folder) + path.sep,
);

function framesOf(stack: string | undefined): readonly string[] {
  return (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
}

/** The stack lines in the user's own code, innermost first. */
export function userFrames(stack: string | undefined): readonly string[] {
  const isPlace = (line: string): boolean => /:\d+:\d+\)?$/.test(line); // rejects lines such as `async Promise.all (index 0)`
  const isUsers = (line: string): boolean =>
    isPlace(line) &&
    !/node:|node_modules|<anonymous>/.test(line) &&
    !ourFolders.some((folder) => line.includes(folder));
  return framesOf(stack).filter(isUsers).slice(0, 5);
}

/**
 * Returns where an episode failed, innermost first. If the workflow itself threw, that is eight lines of the stack and
 * the user's first line. Otherwise it is the user's own lines.
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

/** The line that says most about where an episode failed: the user's innermost line, or the innermost of all. */
export function failurePlace(error: {
  readonly code: string;
  readonly stack?: string | undefined;
}): string | undefined {
  return userFrames(error.stack)[0] ?? failureFrames(error)[0];
}

/** Says what failed, why, and where in the user's code. Without the place, "x is not defined" says nothing. */
export function withUserFrames(what: string, error: unknown): string {
  return [`${what}: ${toErrorMessage(error)}`, ...userFrames(error instanceof Error ? error.stack : undefined)].join(
    '\n',
  );
}
