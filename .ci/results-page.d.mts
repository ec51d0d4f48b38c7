import type { FigureGroups } from './fill-figures.mjs';

export function resultsPage(
  groups: FigureGroups,
  values: ReadonlyMap<string, string>,
  quotedBy: ReadonlyMap<string, readonly string[]>,
  locate: (file: string) => string,
  readResult: (file: string) => unknown,
): string;
