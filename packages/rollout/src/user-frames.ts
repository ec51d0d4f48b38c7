import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';

/** The folders that hold our packages: among a user's node_modules the first one, in our repository all three. */
const ourFolders = ['../..', '../../../adapters', '../../../trainer'].map(
  (folder) => path.resolve(import.meta.dirname, folder) + path.sep,
);

function framesOf(stack: string | undefined): readonly string[] {
  return (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
}

/** The lines of a stack that stand in the user's own code, innermost first. */
export function userFrames(stack: string | undefined): readonly string[] {
  const isPlace = (line: string): boolean => /:\d+:\d+\)?$/.test(line); // `async Promise.all (index 0)` is none
  const isUsers = (line: string): boolean =>
    isPlace(line) &&
    !/node:|node_modules|<anonymous>/.test(line) &&
    !ourFolders.some((folder) => line.includes(folder));
  return framesOf(stack).filter(isUsers).slice(0, 5);
}

/**
 * Where an episode failed, innermost first: if the workflow itself threw, eight lines of the stack and the user's first
 * one, otherwise the user's own lines.
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

/** The one line that says most about where an episode failed: the user's innermost, else the innermost of all. */
export function failurePlace(error: {
  readonly code: string;
  readonly stack?: string | undefined;
}): string | undefined {
  return userFrames(error.stack)[0] ?? failureFrames(error)[0];
}

/** What failed, why, and below it where in the user's code: without that, "x is not defined" says nothing. */
export function withUserFrames(what: string, error: unknown): string {
  return [`${what}: ${toErrorMessage(error)}`, ...userFrames(error instanceof Error ? error.stack : undefined)].join(
    '\n',
  );
}
