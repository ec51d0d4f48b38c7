export type FigureGroups = Readonly<
  Record<string, { readonly result: string; readonly command?: string; readonly figures: Readonly<Record<string, string>> }>
>;
export function computeFigures(
  groups: FigureGroups,
  readResult: (file: string) => unknown,
): Promise<Map<string, string>>;
export function quotedFigures(page: string): string[];
export function fillFigures(page: string, values: ReadonlyMap<string, string>): string;
