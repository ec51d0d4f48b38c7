// How the modules of users are found and read. Node runs these hooks in a thread that knows no TypeScript, so this file is not compiled. See
// src/user-module.ts.
import { readFile } from 'node:fs/promises';

/** The module of ours that registered the hooks: packages that a user's folder lacks are looked for from there. */
let ours;

export function initialize({ parentURL }) {
  ours = parentURL;
}

const isPackage = (specifier) => /^[@a-z]/i.test(specifier) && !/^[a-z][a-z0-9+.-]*:/i.test(specifier);

async function find(specifier, context, nextResolve) {
  try {
    return await nextResolve(specifier, context);
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !isPackage(specifier)) throw error;
    return nextResolve(specifier, { ...context, parentURL: ours }).catch(() => {
      throw error;
    });
  }
}

export async function resolve(specifier, context, nextResolve) {
  const resolved = await find(specifier, context, nextResolve);
  const isUsers = resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/');
  return isUsers && (await isModule(resolved)) ? { ...resolved, format: 'module' } : resolved;
}

async function isModule({ url, format }) {
  if (/\.tsx?(\?|$)/.test(url)) return true;
  if (format || !/\.jsx?(\?|$)/.test(url)) return false;
  const text = await readFile(new URL(url), 'utf8').catch(() => '');
  return /^\s*(import|export)\b(?!\s*\()/m.test(text);
}
