import { existsSync, readdirSync, statSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError, findNearestKey } from '@agentjet/core';
import { describeLoadFailure } from './load-failure.js';

/**
 * Loads the export that a configuration names as `path/file.ts->Export` (`->default` for a default export), relative to
 * `baseDir`. TypeScript files load directly, with source maps, so stacks and breakpoints match the user's file. `key`
 * is the configuration's name for the reference, for messages. Throws ConfigError: `bad_reference`, `missing_file`,
 * `missing_export` or `module_failed` (with the module's own error as cause).
 */
export async function importUserModule(reference: string, baseDir: string, key?: string): Promise<unknown> {
  const named = key === undefined ? `"${reference}"` : `${key} "${reference}"`;
  const { file, exportName } = parseReference(reference, named);
  const fullPath = path.resolve(baseDir, file);
  const isFile = existsSync(fullPath) && statSync(fullPath).isFile();
  const installed = isFile ? undefined : toPackageSpecifier(fullPath);
  if (!isFile && installed === undefined) {
    const places =
      key === undefined
        ? `Paths are relative to ${path.resolve(baseDir)}.`
        : 'Paths are resolved against the folder of the YAML file that names them, then against the working directory.';
    const isPython = /^[\w.]+$/.test(file) && path.extname(file) !== '' && !/\.[cm]?[jt]sx?$/.test(file);
    const isFolder = existsSync(fullPath);
    const seen = isFolder ? 'is a folder. Name a file in it.' : 'does not exist.';
    const isPackage = path.extname(file) === '' && !isFolder;
    const near = isFolder ? undefined : findNearFile(fullPath);
    const repair = isPython
      ? 'It looks like a Python module: name a TypeScript or JavaScript file.'
      : `${near === undefined ? '' : `Did you mean ${near}? `}${isPackage ? 'No installed package has this name either. ' : ''}${places}`;
    throw new ConfigError('missing_file', `${named} names ${fullPath}, which ${seen} ${repair}`);
  }
  const exported = await load(fullPath, installed ?? pathToFileURL(fullPath).href, named);
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

const codeFile = /(?<!\.d)\.[cm]?[jt]sx?$/;

/** Finds a code file in the same folder whose name differs by its extension or by a slip. */
function findNearFile(fullPath: string): string | undefined {
  const folder = path.dirname(fullPath);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return undefined;
  const stems = new Map(
    readdirSync(folder)
      .filter((name) => codeFile.test(name))
      .map((name) => [name.replace(codeFile, ''), name]),
  );
  const stem = path.basename(fullPath).replace(codeFile, '');
  return stems.get(stem) ?? stems.get(findNearestKey(stem, [...stems.keys()]) ?? '');
}

function parseReference(reference: string, named: string): { readonly file: string; readonly exportName: string } {
  const match = /^(?<file>.+?)->(?<exportName>[^>]+)$/.exec(reference.trim());
  if (match?.groups === undefined) {
    throw new ConfigError('bad_reference', `${named} does not name an export. Write path/file.ts->Export.`);
  }
  return { file: match.groups['file']?.trim() ?? '', exportName: match.groups['exportName']?.trim() ?? '' };
}

/**
 * The module with the hooks that decide how a user's files are loaded. TypeScript is always loaded as ES modules, even
 * if the nearest package.json says otherwise, because CommonJS would load a second copy of our packages. JavaScript
 * that looks like an ES module is also loaded as an ES module, if no package.json sets its type. If the user's folder
 * lacks a package, the package is resolved from the location of this package, so a workflow file can be anywhere.
 */
const hooks = new URL('../threads/user-module-hooks.mjs', import.meta.url);

type UserModuleHooks = {
  readonly initialize: (data: { readonly parentURL: string }) => void;
  readonly resolveSync: unknown;
};

/** The type of `node:module` with `registerHooks`. The installed types are those of Node 20, which lack it. */
type MaybeSynchronous = { readonly registerHooks?: (hooks: { readonly resolve: unknown }) => unknown };

/** The settings of the compiler that are registered. An empty name means those of the working directory, if any. */
const registered = new Set<string>();

/**
 * Loads the compiler together with the first module of a user, so programs without user modules do not load it. Path
 * aliases are those of the tsconfig.json that is nearest to the module, in any working directory.
 */
async function registerTypeScript(file: string): Promise<void> {
  const { register } = await import('tsx/esm/api');
  const tsconfig = process.env['TSX_TSCONFIG_PATH'] === undefined ? nearestTsconfig(path.dirname(file)) : undefined;
  const name = tsconfig ?? '';
  if (registered.has(name)) return;
  // Node calls hooks in the reverse order of their registration, so our hook also handles the requests of tsx.
  if (registered.size === 0) await registerHooks({ parentURL: import.meta.url });
  registered.add(name);
  register(tsconfig === undefined ? {} : { tsconfig });
  process.setSourceMapsEnabled(true);
}

function nearestTsconfig(dir: string): string | undefined {
  const file = path.join(dir, 'tsconfig.json');
  if (existsSync(file)) return file;
  const parent = path.dirname(dir);
  return parent === dir ? undefined : nearestTsconfig(parent);
}

/**
 * Registers the hooks. Node 26 warns about `module.register`, so `registerHooks` is used from Node 26 on. It is not
 * used before, because early releases of Node 22 and 24 have an unfinished `registerHooks`, whose `require` passes
 * conditions of another type.
 */
async function registerHooks(data: { readonly parentURL: string }): Promise<void> {
  const { registerHooks: registerInThread } = module as MaybeSynchronous;
  if (registerInThread === undefined || Number.parseInt(process.versions.node, 10) < 26)
    return module.register(hooks, { data });
  const { initialize, resolveSync } = (await import(hooks.href)) as UserModuleHooks;
  initialize(data);
  registerInThread({ resolve: resolveSync });
}

/**
 * Returns the specifier of an installed package, such as `/a/node_modules/autoevals`. The hooks resolve it as an import of
 * a file in `/a`, so the package decides which of its files is loaded.
 */
function toPackageSpecifier(fullPath: string): string | undefined {
  const [, folder, name, packageName = ''] =
    /^(.*)[\\/]node_modules[\\/](((?:@[^\\/]+[\\/])?[^\\/]+).*)$/.exec(fullPath) ?? [];
  if (folder === undefined || name === undefined) return undefined;
  if (!existsSync(path.join(folder, 'node_modules', packageName, 'package.json'))) return undefined;
  const parent = pathToFileURL(path.join(folder, 'package.json'));
  return `ajet-package/${[name.replaceAll('\\', '/'), parent.href].map(encodeURIComponent).join('/')}`;
}

async function load(fullPath: string, specifier: string, named: string): Promise<Readonly<Record<string, unknown>>> {
  await registerTypeScript(fullPath);
  try {
    return (await import(specifier)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new ConfigError('module_failed', describeLoadFailure(`${named} could not be loaded`, error, fullPath), {
      cause: error,
    });
  }
}
