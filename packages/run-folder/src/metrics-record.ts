/** Numbers of one step or evaluation, snake_case; `step` is among them. */
export type MetricsRecord = { readonly step: number } & Readonly<Record<string, number>>;
