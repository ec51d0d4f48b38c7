/** The numbers of one step or evaluation under snake_case names, including `step`. */
export type MetricsRecord = { readonly step: number } & Readonly<Record<string, number>>;
