import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../first-hour/run-command.js';

/** A project as a user would set it up, in an empty folder. It throws if something does not work. */
export type DoorProject = {
  readonly name: string;
  readonly run: (place: Place) => Promise<void>;
};

export type Place = {
  readonly dir: string;
  /** The folder with the tarballs of all our packages. */
  readonly packed: string;
  /** Writes files by their path in the folder. A value that is not a string is written as JSON. */
  readonly write: (files: Readonly<Record<string, unknown>>) => void;
  /** Runs a line in the folder, or in a folder in it. Returns both outputs. Rejects if the line fails. */
  readonly sh: (line: string, options?: ShellOptions) => Promise<string>;
  /** Installs all our packages and these with npm. A package such as `-ai-sdk` leaves that adapter out. */
  readonly install: (...packages: readonly string[]) => Promise<void>;
};

export type ShellOptions = { readonly in?: string; readonly env?: Readonly<Record<string, string | undefined>> };

export function openPlace(dir: string, packed: string): Place {
  mkdirSync(dir, { recursive: true });
  const sh: Place['sh'] = async (line, { in: below = '.', env = {} } = {}) => {
    // The variables of the benchmark's own npm would change what a package manager does.
    const cleared = Object.keys(process.env).filter((name) =>
      /^npm_(?!config_(registry|cache|userconfig))/i.test(name),
    );
    const { output } = await runCommand(line, {
      cwd: path.join(dir, below),
      env: { ...Object.fromEntries(cleared.map((name) => [name, undefined])), NODE_OPTIONS: undefined, ...env },
    });
    return output;
  };
  return {
    dir,
    packed,
    sh,
    write: (files) => {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
        writeFileSync(path.join(dir, name), typeof content === 'string' ? content : JSON.stringify(content, null, 2));
      }
    },
    install: async (...packages) => {
      const left = packages.filter((name) => name.startsWith('-')).map((name) => `agentjet${name}-`);
      const files = readdirSync(packed).filter(
        (file) => file.endsWith('.tgz') && !left.some((name) => file.startsWith(name)),
      );
      const tarballs = files.map((file) => `"${path.join(packed, file)}"`).join(' ');
      const others = packages.filter((name) => !name.startsWith('-')).join(' ');
      await sh(`npm install --ignore-scripts --no-audit --no-fund ${tarballs} ${others}`);
    },
  };
}

/** Throws if the output lacks a part. */
export function expectPart(text: string, part: string | RegExp): void {
  const isThere = typeof part === 'string' ? text.includes(part) : part.test(text);
  if (!isThere) throw new Error(`the output lacks ${String(part)}:\n${text.slice(-2000)}`);
}
