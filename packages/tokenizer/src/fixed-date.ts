/**
 * The date that templates print. Templates such as Llama 3.2's print today's date. A prompt must not change at
 * midnight, or between a run and its resumption. So the date is fixed to the fallback date of those templates.
 */
const fixedDate: Readonly<Record<string, string>> = {
  d: '26',
  m: '07',
  b: 'Jul',
  B: 'July',
  y: '24',
  Y: '2024',
  H: '00',
  M: '00',
  S: '00',
  A: 'Friday',
  a: 'Fri',
};

export function formatFixedDate(format: string): string {
  return format.replace(/%(\w)/g, (code: string, letter: string) => fixedDate[letter] ?? code);
}
