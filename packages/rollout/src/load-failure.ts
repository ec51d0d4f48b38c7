import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { toErrorMessage } from '@agentjet/core';
import { userFrames } from './user-frames.js';

/** Returns what failed while a user's module was loaded, why, and in which file and line. `file`: the module's path. */
export function describeLoadFailure(what: string, error: unknown, file: string): string {
  const message = `${what}: ${toErrorMessage(error)}`;
  if (!(error instanceof Error)) return `${message}\n    thrown by ${file}; an Error in its place would have its line`;
  const { stack = '' } = error;
  const found = decoratedPlace(stack) ?? importingPlace(error.message);
  // The compiler writes file and line into its message.
  if (found === undefined && /:\d+:\d+: ERROR: /.test(message)) return message;
  const frames = found === undefined ? userFrames(stack) : [`    at ${found}`];
  return [message, ...(frames.length > 0 ? frames : [`    at ${file}`])].join('\n');
}

/** Node writes the place of a syntax error or a missing export above the message. */
function decoratedPlace(stack: string): string | undefined {
  const [, file = '', line] = /^((?:file:\/\/)?\S.*?):(\d+)\n/.exec(stack) ?? [];
  if (line === undefined || file.startsWith('node:')) return undefined;
  return `${file.startsWith('file://') ? fileURLToPath(file) : file}:${line}`;
}

/** Finds the line of an import that could not be resolved. Node names only the file of the import. */
function importingPlace(message: string): string | undefined {
  const [, wanted = '', importer] = /^Cannot find (?:package|module) '(.+?)' imported from (.+)$/m.exec(message) ?? [];
  if (importer === undefined) return undefined;
  const file = importer.startsWith('file://') ? fileURLToPath(importer) : importer;
  const name = path.isAbsolute(wanted) ? path.basename(wanted) : wanted;
  const line = readLines(file).findIndex((text) => text.includes(name) && /['"]/.test(text));
  return line < 0 ? file : `${file}:${line + 1}`;
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return []; // the importer is not a file, such as code on a command line
  }
}
