import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';

/** The folder that holds our packages: in a repository or among a user's node_modules. */
const ourPackages = path.resolve(import.meta.dirname, '../..') + path.sep;

function framesOf(stack: string | undefined): readonly string[] {
  return (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
}

/** The lines of a stack that stand in the user's own code, innermost first. */
function userFrames(stack: string | undefined): readonly string[] {
  const isUsers = (line: string): boolean => !/node:|node_modules|<anonymous>\)/.test(line) && !line.includes(ourPackages);
  return framesOf(stack).filter(isUsers).slice(0, 5);
}

/** Where an episode failed, innermost first: eight lines of the stack where the workflow itself threw, else the user's own lines. */
export function failureFrames({ code, stack }: { readonly code: string; readonly stack?: string | undefined }): readonly string[] {
  return code === 'workflow_failed' ? framesOf(stack).slice(0, 8) : userFrames(stack);
}

/** What failed, why, and below it where in the user's code: without that, "x is not defined" says nothing. */
export function withUserFrames(what: string, error: unknown): string {
  return [`${what}: ${toErrorMessage(error)}`, ...userFrames(error instanceof Error ? error.stack : undefined)].join('\n');
}
