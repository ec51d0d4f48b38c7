/**
 * Templates such as Llama 3.2's print today's date. A prompt must not change at midnight, nor between the run that sampled it
 * and the one that resumes it, so the date is fixed to the one that those templates use as a fallback.
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
