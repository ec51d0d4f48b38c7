// Hooks that resolve and load the modules of users. Node versions without `registerHooks` run these hooks in a thread
// that cannot load TypeScript, so this file is JavaScript. See src/user-module.ts.
import { readFileSync } from 'node:fs';

/** Our module that registered the hooks. Packages that a user's folder lacks are resolved from there. */
let ours;

export function initialize({ parentURL }) {
  ours = parentURL;
}

const isPackage = (specifier) => /^[@a-z]/i.test(specifier) && !/^[a-z][a-z0-9+.-]*:/i.test(specifier);
const isAbsent = (error, specifier) => error?.code === 'ERR_MODULE_NOT_FOUND' && isPackage(specifier);
const fromOurs = (context) => ({ ...context, parentURL: ours });

/** Reads `ajet-package/<name>/<parent>` of src/user-module.ts: the import of a package by a file of the user. */
function readPackage(specifier, context) {
  const [name, parentURL] = /^ajet-package\/([^/]+)\/([^/]+)$/.exec(specifier)?.slice(1).map(decodeURIComponent) ?? [];
  return name === undefined ? { specifier, context } : { specifier: name, context: { ...context, parentURL } };
}

async function find(specifier, context, nextResolve) {
  try {
    return await nextResolve(specifier, context);
  } catch (error) {
    if (!isAbsent(error, specifier)) throw error;
    return nextResolve(specifier, fromOurs(context)).catch(() => {
      throw error;
    });
  }
}

/** The hook for `module.register`. */
export async function resolve(given, from, nextResolve) {
  const { specifier, context } = readPackage(given, from);
  return withFormat(await find(specifier, context, nextResolve));
}

function findSync(specifier, context, nextResolve) {
  try {
    return nextResolve(specifier, context);
  } catch (error) {
    if (!isAbsent(error, specifier)) throw error;
    try {
      return nextResolve(specifier, fromOurs(context));
    } catch {
      throw error;
    }
  }
}

/** The hook for `module.registerHooks`, which is also called for `require`. */
export function resolveSync(given, from, nextResolve) {
  const { specifier, context } = readPackage(given, from);
  if (context.conditions.includes('require')) return nextResolve(specifier, context);
  return withFormat(findSync(specifier, context, nextResolve));
}

function withFormat(resolved) {
  const isUsers = resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/');
  return isUsers && isModule(resolved) ? { ...resolved, format: 'module' } : resolved;
}

function isModule({ url, format }) {
  if (/\.tsx?(\?|$)/.test(url)) return true;
  if (format || !/\.jsx?(\?|$)/.test(url)) return false;
  return /^\s*(import|export)\b(?!\s*\()/m.test(readIfThere(new URL(url)));
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // Node reports what is wrong with the file
  }
}
