export type Share = { readonly part: string; readonly minutes: number; readonly folders: readonly string[] };
export type PartTime = {
  readonly part: string;
  readonly minutes: number;
  readonly allowed: number;
  readonly isOver: boolean;
};
export type ProcessorSeconds = { readonly machine: number; readonly ours: number };
type Seconds = Readonly<Record<string, number>>;

export function minutesByPart(
  seconds: Seconds,
  shares: readonly Share[],
  workers: number,
  slowness?: number,
): readonly PartTime[];
export function slownessOf(speeds: readonly number[]): number;
export function exceededBudgets(
  parts: readonly PartTime[],
  took: { readonly test: number; readonly ci?: number | undefined },
  budgets: { readonly test: number; readonly ci: number },
): readonly string[];
export function formatParts(parts: readonly PartTime[]): string;
export function slowestFiles(seconds: Seconds, count: number): string;
export function processorSeconds(): ProcessorSeconds | undefined;
export function shareOfOthers(
  before: ProcessorSeconds | undefined,
  after: ProcessorSeconds | undefined,
  seconds: number,
): number;
