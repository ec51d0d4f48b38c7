import path from 'node:path';
import { API, SymbolFlags } from 'typescript/unstable/sync';

/**
 * Returns exported names that at least two files declare, as the TypeScript compiler sees the exports of each file. A
 * re-export from another file is not a declaration.
 */
export function findDeclaredTwice(
  root: string,
  files: readonly string[],
): readonly (readonly [name: string, files: readonly string[]])[] {
  const declaredIn = new Map<string, string[]>();
  for (const [file, names] of declaredNames(root, files))
    for (const name of names) declaredIn.set(name, [...(declaredIn.get(name) ?? []), file]);
  return [...declaredIn].filter(([, places]) => places.length > 1);
}

function declaredNames(root: string, files: readonly string[]) {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProject: path.join(root, 'tsconfig.check.json') }).getProjects();
    if (project === undefined) throw new Error(`TypeScript does not open ${root}/tsconfig.check.json.`);
    const { program, checker } = project;
    return files.map((file) => {
      const source = program.getSourceFile(path.join(root, file));
      const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
      const exported = module === undefined ? [] : checker.getExportsOfModule(module);
      const declared = exported.filter(({ flags }) => (flags & SymbolFlags.Alias) === 0);
      return [file, declared.map(({ name }) => name)] as const;
    });
  } finally {
    api.close();
  }
}
