import { isJsonObject, type JsonObject } from '@agentjet/core';

/**
 * The content of `tasks.json`: the number of tasks, their sources, and what was left out, for training and for
 * evaluation.
 */
export type TasksRecord = { readonly training: SideRecord; readonly evaluation: SideRecord };

type SideRecord = {
  readonly tasks: number | null;
  readonly sources: readonly { readonly location: string; readonly sha256: string | null }[];
};

/** Describes sources whose content has changed although their location is the same. */
export function findChangedSources(before: JsonObject, { training, evaluation }: TasksRecord): readonly string[] {
  const earlier = new Map([...sumsOf(before['training']), ...sumsOf(before['evaluation'])]);
  const changed = [...training.sources, ...evaluation.sources].filter(({ location, sha256 }) => {
    const sum = earlier.get(location);
    return sum !== undefined && sha256 !== null && sum !== sha256;
  });
  return [...new Set(changed.map(({ location }) => location))].map(
    (location) => `The tasks in ${location} have changed since the run began. The run continues with the new ones.`,
  );
}

function sumsOf(side: unknown): readonly (readonly [location: string, sum: string])[] {
  const sources: unknown = isJsonObject(side) ? side['sources'] : undefined;
  if (!Array.isArray(sources)) return [];
  return sources.flatMap((source: unknown) => {
    if (!isJsonObject(source)) return [];
    const { location, sha256 } = source;
    return typeof location === 'string' && typeof sha256 === 'string' ? [[location, sha256] as const] : [];
  });
}
