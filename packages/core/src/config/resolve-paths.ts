import { existsSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import { isJsonObject, type JsonObject } from '../json-object.js';
import { isExportReference, isGivenInCode } from './registration.js';
import { notesOf, shapeOf, type SettingNotes } from './setting.js';

/** Returns the part of a path that must exist: the path itself, or the folder before the first wildcard of a pattern. */
function fixedPart(file: string): string {
  const wildcard = file.search(/[*?[{]/);
  return wildcard === -1 ? file : path.dirname(`${file.slice(0, wildcard)}_`);
}

/** Makes a path absolute: next to the file that names it if it exists there, otherwise in the working directory. */
function resolvePath(value: string, folders: readonly string[]): string {
  const candidates = folders.map((folder) => path.resolve(folder, value));
  return candidates.find((candidate) => existsSync(fixedPart(candidate))) ?? candidates[0] ?? path.resolve(value);
}

function resolveModule(value: string, folders: readonly string[]): string {
  const [file = value, ...names] = value.split('->').map((part) => part.trim());
  const resolved = resolvePath(file, folders);
  const installed = existsSync(resolved) ? undefined : findInstalled(file, folders);
  return [installed ?? resolved, ...names].join('->');
}

/** Returns the path of an installed package, or of a part of it such as `vitest-evals/judges`, below `node_modules`. */
function findInstalled(name: string, folders: readonly string[]): string | undefined {
  const [, packageName] = /^((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[\w./-]+)?$/.exec(name) ?? [];
  if (packageName === undefined) return undefined;
  const roots = folders.flatMap(withParents).map((folder) => path.join(folder, 'node_modules'));
  const root = roots.find((each) => existsSync(path.join(each, packageName, 'package.json')));
  return root === undefined ? undefined : path.join(root, name);
}

function withParents(folder: string): readonly string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [folder, ...withParents(parent)];
}

/** `nano` is a bundled model and not a folder. A name such as Qwen/Qwen2.5-0.5B that is not a folder stays as it is, for messages. */
function resolveModel(value: string, folders: readonly string[]): string {
  if (isBundledModel(value)) return value;
  const resolved = resolvePath(value, folders);
  const looksLikePath = /^[./~]/.test(value) || path.isAbsolute(value);
  return looksLikePath || existsSync(resolved) ? resolved : value;
}

type Places = { readonly folders: readonly string[]; readonly cwd: string };

function resolveValue(value: string, how: SettingNotes['path'], { folders, cwd }: Places): string {
  switch (how) {
    case 'file':
      return resolvePath(value, folders);
    case 'module':
      return resolveModule(value, folders);
    case 'name':
      return isExportReference(value) && !isGivenInCode(value) ? resolveModule(value, folders) : value;
    case 'model':
      return resolveModel(value, folders);
    case 'output':
      return path.resolve(cwd, value);
    case undefined:
      return value;
  }
}

/** Resolves a setting whose keys are paths, such as the parts of a judge with their weights. */
function resolveNames(value: JsonObject, how: SettingNotes['path'], places: Places): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [resolveValue(name, how, places), inner]));
}

/**
 * Makes every path of the configuration absolute, by the rule of its setting. The first of `folders` that has the path wins.
 * Outputs are placed below `cwd`.
 */
export function resolvePaths(config: JsonObject, schema: z.ZodType, places: Places): JsonObject {
  const shape = shapeOf(schema);
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => {
      const known = shape[key];
      if (known === undefined) return [key, value];
      const { path: how } = notesOf(known);
      if (isJsonObject(value))
        return [key, how === undefined ? resolvePaths(value, known, places) : resolveNames(value, how, places)];
      const resolve = (one: unknown): unknown => (typeof one === 'string' ? resolveValue(one, how, places) : one);
      return [key, Array.isArray(value) ? value.map(resolve) : resolve(value)];
    }),
  );
}

/** The models that `model.path` accepts by name. Each comes with a package. */
const bundledModels = ['nano', 'micro'] as const;
export type BundledModel = (typeof bundledModels)[number];

export function isBundledModel(name: string): name is BundledModel {
  return bundledModels.some((each) => each === name);
}
