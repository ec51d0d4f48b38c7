/** What the workflow says that the agent answered, as text; null: nothing. */
export function candidateText(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  return value === undefined || value === null ? null : JSON.stringify(value);
}
