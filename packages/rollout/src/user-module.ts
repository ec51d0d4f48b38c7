import { existsSync, statSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '@agentjet/core';
import { withUserFrames } from './user-frames.js';

/**
 * Loads what a configuration names as `path/file.ts->Export` (`->default` for a default export), relative to
 * `baseDir`. TypeScript just loads, with source maps: stacks and breakpoints are those of the user's file. `key` is
 * the configuration's name for it, for messages. Throws ConfigError: `bad_reference`, `missing_file`, `missing_export`,
 * `module_failed` (with the module's own error as cause).
 */
export async function importUserModule(reference: string, baseDir: string, key?: string): Promise<unknown> {
  const named = key === undefined ? `"${reference}"` : `${key} "${reference}"`;
  const { file, exportName } = parseReference(reference, named);
  const fullPath = path.resolve(baseDir, file);
  if (!existsSync(fullPath) || !statSync(fullPath).isFile()) {
    const places =
      key === undefined
        ? `Paths are relative to ${path.resolve(baseDir)}.`
        : 'Paths are looked for beside the YAML file that names them, then in the working directory.';
    const isPython = /^[\w.]+$/.test(file) && path.extname(file) !== '' && !/\.[cm]?[jt]sx?$/.test(file);
    const repair = isPython ? 'It looks like a Python module: name a TypeScript or JavaScript file.' : places;
    throw new ConfigError('missing_file', `${named} names ${fullPath}, which does not exist. ${repair}`);
  }
  const exported = await load(fullPath, named);
  if (!(exportName in exported) || exported[exportName] === undefined) {
    const names = Object.keys(exported)
      .filter((name) => name !== 'module.exports')
      .sort();
    throw new ConfigError(
      'missing_export',
      `${fullPath} exports nothing named "${exportName}". ${names.length === 0 ? 'It exports nothing at all.' : `It exports: ${names.join(', ')}.`}`,
    );
  }
  return exported[exportName];
}

function parseReference(reference: string, named: string): { readonly file: string; readonly exportName: string } {
  const match = /^(?<file>.+?)->(?<exportName>[^>]+)$/.exec(reference.trim());
  if (match?.groups === undefined) {
    throw new ConfigError('bad_reference', `${named} does not name an export. Write path/file.ts->Export.`);
  }
  return { file: match.groups['file']?.trim() ?? '', exportName: match.groups['exportName']?.trim() ?? '' };
}

/**
 * TypeScript is loaded as ES modules, no matter what the nearest package.json says: as CommonJS it would get a second copy
 * of our packages. So is JavaScript that looks like one, if no package.json says what it is. A package that the user's folder
 * does not have is looked for where this one is installed, so that a workflow may be anywhere.
 */
const hooks = new URL('../threads/user-module-hooks.mjs', import.meta.url);

type UserModuleHooks = {
  readonly initialize: (data: { readonly parentURL: string }) => void;
  readonly resolveSync: unknown;
};

/** The types are those of Node 20. */
type MaybeSynchronous = { readonly registerHooks?: (hooks: { readonly resolve: unknown }) => unknown };

let isRegistered = false;

/** The compiler is loaded here, with the first module of a user: programs without one do without it. */
async function registerTypeScript(): Promise<void> {
  const { register } = await import('tsx/esm/api');
  if (isRegistered) return;
  isRegistered = true;
  // The last one registered is asked first: ours answers what tsx asks for.
  await registerHooks({ parentURL: import.meta.url });
  register();
  process.setSourceMapsEnabled(true);
}

/**
 * Node 26 warns of `module.register`. The `registerHooks` of early releases of Node 22 and 24 is unfinished: their `require` passes conditions of
 * another type.
 */
async function registerHooks(data: { readonly parentURL: string }): Promise<void> {
  const { registerHooks: registerInThread } = module as MaybeSynchronous;
  if (registerInThread === undefined || Number.parseInt(process.versions.node, 10) < 26)
    return module.register(hooks, { data });
  const { initialize, resolveSync } = (await import(hooks.href)) as UserModuleHooks;
  initialize(data);
  registerInThread({ resolve: resolveSync });
}

async function load(fullPath: string, named: string): Promise<Readonly<Record<string, unknown>>> {
  await registerTypeScript();
  try {
    return (await import(pathToFileURL(fullPath).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new ConfigError('module_failed', withUserFrames(`${named} could not be loaded`, error), { cause: error });
  }
}
