/** Numbers as people read them. A missing number is a dash. */

export function showRate(rate: number | null | undefined): string {
  return rate === null || rate === undefined ? '–' : rate.toFixed(2);
}

/** "+0.24", "−0.05" */
export function showSigned(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
}

/** Three significant digits, without exponents between 0.001 and a million. */
export function showNumber(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (Number.isInteger(value)) return value.toLocaleString('en-US').replaceAll(',', ' ');
  const size = Math.abs(value);
  if (size >= 1000) return showNumber(Math.round(value));
  if (size >= 0.001) return String(Number(value.toPrecision(3)));
  const [digits = '', power = ''] = value.toExponential(1).split('e');
  return `${digits.replace(/\.0$/, '')}×10${toSuperscript(power.replace('+', ''))}`;
}

const toSuperscript = (digits: string): string => [...digits].map((digit) => superscripts[digit] ?? digit).join('');
const superscripts: Readonly<Record<string, string>> = {
  '-': '⁻',
  ...Object.fromEntries([...'⁰¹²³⁴⁵⁶⁷⁸⁹'].map((raised, digit) => [String(digit), raised])),
};

/** "0.4 s", "12 s", "3 min 5 s", "2 h 10 min" */
export function showSeconds(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** "just now", "5 min ago", "3 h ago", "12 days ago" */
export function showAge(thenMs: number, nowMs: number): string {
  const seconds = Math.max(0, (nowMs - thenMs) / 1000);
  if (seconds < 60) return 'just now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} days ago`;
}

/** "1 task", "3 tasks" */
export function showCount(count: number, noun: string): string {
  return `${showNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Shows control characters and marks that change the direction of text, so that a string cannot pretend to be another. */
export function markHidden(text: string): string {
  return text.replaceAll(hidden, (mark) => `‹${mark.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}›`);
}

/** Control characters except tab and line end, zero-width characters, and marks of direction. */
const hidden = /(?![\t\n])\p{Cc}|[\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu;

/** "512 B", "1.5 MiB" */
export function showBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** Splits a string at each place of the quote. Every second part is the quote. */
export function splitAtQuote(text: string, quote: string): readonly string[] {
  return text.split(quote).flatMap((part, at) => (at === 0 ? [part] : [quote, part]));
}
