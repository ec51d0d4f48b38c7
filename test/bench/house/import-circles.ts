import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { workspaces } from '../../../.ci/workspaces.mjs';
import type { Source } from './sources.js';

const doors = new Map(workspaces().flatMap((workspace) => Object.entries(workspace.doors)));

/**
 * Returns what a file imports by `import`, `export ... from` and `import()`. With `values`, imports of types alone are
 * left out, because they do not exist when the code runs.
 */
function importedBy({ file, text }: Source, wanted: 'all' | 'values'): readonly string[] {
  const { module } = parseSync(file, text);
  const isWanted = (entries: readonly { readonly isType: boolean }[]): boolean =>
    wanted === 'all' || entries.length === 0 || entries.some(({ isType }) => !isType);
  const imports = module.staticImports.filter(({ entries }) => isWanted(entries));
  const exports = module.staticExports.flatMap(({ entries }) => entries.filter((entry) => isWanted([entry])));
  return [
    ...imports.map(({ moduleRequest }) => moduleRequest.value),
    ...exports.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ];
}

function resolve(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return doors.get(specifier);
  return path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts');
}

/**
 * Returns sets of files each of which imports every other, directly or through other files: the strongly connected
 * components of the imports (Tarjan).
 */
export function findCircles(sources: readonly Source[], wanted: 'all' | 'values'): readonly (readonly string[])[] {
  const known = new Set(sources.map(({ file }) => file));
  const imports = new Map(
    sources.map((source) => {
      const targets = importedBy(source, wanted).map((specifier) => resolve(source.file, specifier));
      return [source.file, targets.filter((target) => target !== undefined && known.has(target))] as const;
    }),
  );
  return stronglyConnected(imports).filter(({ length }) => length > 1);
}

function stronglyConnected(
  graph: ReadonlyMap<string, readonly (string | undefined)[]>,
): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const found: (readonly string[])[] = [];
  const visit = (node: string): number => {
    const own = order.size;
    order.set(node, own);
    open.push(node);
    let lowest = own;
    for (const next of graph.get(node) ?? []) {
      if (next === undefined) continue;
      const seen = order.get(next);
      if (seen === undefined) lowest = Math.min(lowest, visit(next));
      else if (open.includes(next)) lowest = Math.min(lowest, seen);
    }
    if (lowest === own) found.push(open.splice(open.indexOf(node)));
    return lowest;
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return found;
}
