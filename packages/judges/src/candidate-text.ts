/** The agent's answer according to the workflow, as text. Null if there is none. */
export function candidateText(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  return value === undefined || value === null ? null : JSON.stringify(value);
}
