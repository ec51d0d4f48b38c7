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
 * The benchmark makes things outside of the sandbox that an escape can look for. It replaces these words in the code:
 * CANARY_FILE is the path of a file, CANARY_PORT is a port of 127.0.0.1 on which a server listens, CANARY_SOCKET is the
 * name of an abstract Unix socket (without its first zero byte), and CANARY_PID is the id of a process. The file and
 * the environment variable SECRET each contain a word. A program that prints one of these words has escaped, too.
 */
export type SandboxCase = { readonly name: string; readonly language: Language; readonly code: string };

export type SandboxCases = { readonly escapes: readonly SandboxCase[]; readonly exhaustions: readonly SandboxCase[] };

/**
 * Returns our cases, and the cases of all files here that are named `*.by-others.ts`. The authors of those files had
 * read the page of the package, but not its code.
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
