import { createRequire } from 'node:module';
import type * as yaml from 'yaml';

const require = createRequire(import.meta.url);

/** The YAML library. Its 72 files are loaded with the first configuration that is read or written, not when core is imported. */
export function loadYaml(): typeof yaml {
  return require('yaml') as typeof yaml;
}
