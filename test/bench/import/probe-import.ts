import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** The files that importing a module loads: scripts, and native libraries (addons and what they load). */
export type Loaded = { readonly files: readonly string[]; readonly native: readonly string[] };

type ProbeOptions = { readonly cwd: string; readonly nodeArgs?: readonly string[]; readonly env?: NodeJS.ProcessEnv };

/** Imports `specifier`, a package or the URL of a file, in a fresh process. */
export function probeImport(specifier: string, { cwd, nodeArgs = [], env = process.env }: ProbeOptions): Loaded {
  const probe = path.join(import.meta.dirname, 'probe.mjs');
  const text = execFileSync(process.execPath, [...nodeArgs, probe, specifier], { cwd, env, encoding: 'utf8' });
  return JSON.parse(text) as Loaded;
}
