import { readdirSync } from 'node:fs';
import path from 'node:path';
import { workspaces } from '../../../.ci/workspaces.mjs';

/**
 * Maps our packages to their tarballs. Unlike npm, other package managers look for the packages that a tarball needs
 * only in the registry, unless an override names a file.
 */
export function packedOverrides(packed: string): Readonly<Record<string, string>> {
  const files = readdirSync(packed).filter((file) => file.endsWith('.tgz'));
  const fileOf = (name: string): string | undefined => {
    const plain = name.replace('@', '').replace('/', '-');
    return files.find((file) => new RegExp(`^${plain}-\\d`).test(file));
  };
  return Object.fromEntries(
    workspaces().flatMap(({ name }) => {
      const file = fileOf(name);
      return file === undefined ? [] : [[name, `file:${path.join(packed, file)}`]];
    }),
  );
}
