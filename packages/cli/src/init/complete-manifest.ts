import { existsSync, readFileSync } from 'node:fs';

/**
 * In an empty folder, `npm install <packages>` writes a package.json with only dependencies. Without `"type":
 * "module"`, the project would load the CommonJS half of a framework, and the adapter would load its other half. Nobody
 * wrote such a file by hand, so it can be completed.
 */

type Manifest = Readonly<Record<string, unknown>>;

/**
 * Completes a package.json that npm alone wrote with the fields of `planned`. Dependencies that it already
 * has keep their versions. Returns undefined if there is no file or somebody wrote it.
 */
export function completeManifest(file: string, planned: string): string | undefined {
  const present = readManifest(file);
  if (present === undefined || Object.keys(present).join() !== 'dependencies') return undefined;
  const wanted = toObject(JSON.parse(planned));
  const dependencies = { ...toObject(wanted['dependencies']), ...toObject(present['dependencies']) };
  return `${JSON.stringify({ ...wanted, dependencies }, null, 2)}\n`;
}

/** Whether a package.json says that its files are ES modules. */
export function isModule(file: string): boolean {
  return readManifest(file)?.['type'] === 'module';
}

/** Undefined if there is no readable file. npm reports what is wrong with it. */
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
