import { existsSync, readFileSync } from 'node:fs';
import { sha256 } from '@agentjet/core';

/**
 * The SHA-256 of each file that a configuration names. The key is the name in the configuration,
 * `path/file.ts->Export`.
 */
export type CodeHashes = Readonly<Record<string, string>>;

function listStrings(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listStrings) : [];
}

/**
 * Hashes the files themselves, not their imports. When a run resumes, the hashes show that a reward or an agent was
 * edited, even if its name is the same.
 */
export function hashCode(config: object): CodeHashes {
  const references = listStrings(config).filter((text) => /\.[cm]?[jt]sx?->\w+$/.test(text));
  return Object.fromEntries(
    references.flatMap((reference) => {
      const file = reference.slice(0, reference.lastIndexOf('->'));
      if (!existsSync(file)) return [];
      return [[reference, sha256(readFileSync(file))] as const];
    }),
  );
}
