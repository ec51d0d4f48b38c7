import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { Language } from '@agentjet/sandbox';
import { exhaustionsOfJavascript } from './exhaust-javascript.js';
import { exhaustionsOfPython } from './exhaust-python.js';
import { moreEscapes, knownEscapes } from './escapes.js';

/**
 * A program that a sandbox must contain. An escape prints ESCAPED if it reaches something outside. An exhaustion takes
 * as much of one thing as it can.
 *
 * The bench starts things outside of the sandbox that an escape can look for, and replaces these words in its code:
 * CANARY_FILE is the path of a file, CANARY_PORT a port of 127.0.0.1 that a server listens on, CANARY_SOCKET the
 * name of an abstract Unix socket (without its first zero byte) and CANARY_PID the id of a process. An escape that
 * prints the word in the file, or that is in the environment variable SECRET, has escaped, too.
 */
export type SandboxCase = { readonly name: string; readonly language: Language; readonly code: string };

export type SandboxCases = { readonly escapes: readonly SandboxCase[]; readonly exhaustions: readonly SandboxCase[] };

/**
 * Returns our cases, and those of all files here that are named `*.by-others.ts`. Their authors had read the package's
 * page and not its code.
 */
export async function readCases(): Promise<{ readonly ours: SandboxCases; readonly byOthers: SandboxCases }> {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.by-others.ts'));
  const read = await Promise.all(
    files.map(async (name) => (await import(path.join(import.meta.dirname, name))) as SandboxCases),
  );
  return {
    ours: {
      escapes: [...knownEscapes, ...moreEscapes],
      exhaustions: [...exhaustionsOfJavascript, ...exhaustionsOfPython],
    },
    byOthers: {
      escapes: read.flatMap(({ escapes }) => escapes),
      exhaustions: read.flatMap(({ exhaustions }) => exhaustions),
    },
  };
}
