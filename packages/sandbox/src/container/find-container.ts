import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

export type ContainerEngine = {
  /** The path of docker or podman. */
  readonly program: string;
  readonly image: string;
};

const engines = ['docker', 'podman'];

/**
 * Returns an engine that has the image, or a description of what is missing. Downloads nothing. Looks for docker and
 * podman in `folders`. Default: PATH.
 */
export function findContainer(
  image: string,
  folders: readonly string[] = (process.env['PATH'] ?? '').split(path.delimiter),
): ContainerEngine | string {
  const end = process.platform === 'win32' ? '.exe' : '';
  const programs = engines.flatMap(
    (name) => folders.map((folder) => path.join(folder, name + end)).find((file) => existsSync(file)) ?? [],
  );
  const problems: string[] = [];
  for (const program of programs) {
    const tried = spawnSync(program, ['image', 'inspect', image], { encoding: 'utf8', timeout: 20_000 });
    if (tried.status === 0) return { program, image };
    problems.push(problemOf(path.basename(program, end), image, tried));
  }
  return problems.length > 0 ? problems.join('; ') : 'neither docker nor podman is installed';
}

function problemOf(
  name: string,
  image: string,
  { error, stderr }: { readonly error?: Error; readonly stderr: string | null },
): string {
  const said = stderr?.trim().split('\n').at(-1) || String(error ?? 'no answer');
  return /no such image|not known|not found/i.test(said)
    ? `${name} does not have the image ${image}: \`${name} pull ${image}\``
    : `${name} does not work: ${said}`;
}
