import { readdirSync } from 'node:fs';
import path from 'node:path';

const isTest = (name: string): boolean =>
  /\.(?:test|d)\.ts$|(?:^|\/)(?:testing|fixtures|tests)(?:\/|[^/]*$)/.test(name);

/** Returns the files in TypeScript and Python that users run, relative to the root. */
export function shippedFiles(root: string): readonly string[] {
  const under = (folder: string): readonly string[] =>
    readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const name = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) return /^(?:node_modules|dist|\..*|__pycache__)$/.test(entry.name) ? [] : under(name);
      return /\/(?:src|ajet_\w+)\/.*\.(?:ts|py)$/.test(name) && !isTest(name) ? [name] : [];
    });
  return ['packages', 'adapters', 'trainer'].flatMap(under);
}
