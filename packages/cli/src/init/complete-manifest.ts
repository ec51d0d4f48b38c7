import { existsSync, readFileSync } from 'node:fs';

/**
 * In an empty folder, `npm install <packages>` writes a package.json with only dependencies. Without `"type":
 * "module"`, the project would load the CommonJS build of a framework, and the adapter its ESM build. npm alone wrote
 * such a file, so it is safe to complete it.
 */

type Manifest = Readonly<Record<string, unknown>>;

/**
 * Completes a package.json that npm alone wrote with the fields of `planned`. Dependencies that it already has keep
 * their versions. Returns undefined if there is no such file, or if a person wrote it.
 */
export function completeManifest(file: string, planned: string): string | undefined {
  const present = readManifest(file);
  if (present === undefined || Object.keys(present).join() !== 'dependencies') return undefined;
  const wanted = toObject(JSON.parse(planned));
  const dependencies = { ...toObject(wanted['dependencies']), ...toObject(present['dependencies']) };
  return `${JSON.stringify({ ...wanted, dependencies }, null, 2)}\n`;
}

/** Returns whether a package.json declares its files to be ES modules. */
export function isModule(file: string): boolean {
  return readManifest(file)?.['type'] === 'module';
}

/** Returns undefined if the file cannot be read. npm reports the problem later. */
function readManifest(file: string): Manifest | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return toObject(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

function toObject(value: unknown): Manifest {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
