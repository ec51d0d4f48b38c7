// Reads our packages from the "workspaces" of package.json. Every script that needs the list gets it here.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { arrows } from './arrows.mjs';

export const root = path.dirname(import.meta.dirname);

const readJson = (file) => JSON.parse(readFileSync(path.join(root, file), 'utf8'));

/** Returns the folders that a pattern of "workspaces" names: a folder, or `folder/*`. */
function foldersOf(pattern) {
  if (!pattern.endsWith('/*')) return [pattern];
  const parent = pattern.slice(0, -2);
  return readdirSync(path.join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${parent}/${entry.name}`);
}

/**
 * Returns the source of an entry of "exports" by its import specifier: `packages/core/src/testing.ts` for
 * `@agentjet/core/testing`.
 */
function doorsOf(dir, { name, exports = {} }) {
  const compiled = Object.entries(exports).filter(([, target]) => typeof target === 'object');
  return Object.fromEntries(
    compiled.map(([entry, { default: file }]) => [
      path.posix.join(name, entry),
      path.posix.join(dir, file.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts')),
    ]),
  );
}

const kindsOfDependency = ['dependencies', 'peerDependencies', 'optionalDependencies', 'devDependencies'];

/** Lists our packages, lowest first. A package that `arrows` does not list comes last. */
export function workspaces() {
  const order = Object.keys(arrows);
  const rank = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
  const found = readJson('package.json')
    .workspaces.flatMap(foldersOf)
    .filter((dir) => existsSync(path.join(root, dir, 'package.json')))
    .map((dir) => {
      const manifest = readJson(`${dir}/package.json`);
      return { dir, name: manifest.name, manifest, doors: doorsOf(dir, manifest) };
    });
  const names = new Set(found.map(({ name }) => name));
  const uses = ({ manifest }) =>
    [...new Set(kindsOfDependency.flatMap((kind) => Object.keys(manifest[kind] ?? {})))].filter((name) =>
      names.has(name),
    );
  return found.map((each) => ({ ...each, uses: uses(each) })).sort((left, right) => rank(left) - rank(right));
}

/** Returns the packages with these names and all that they use, lowest first. */
export function withAllTheyUse(names) {
  const all = workspaces();
  const wanted = new Set(names);
  for (const { name, uses } of all.toReversed()) if (wanted.has(name)) uses.forEach((used) => wanted.add(used));
  return all.filter(({ name }) => wanted.has(name));
}
