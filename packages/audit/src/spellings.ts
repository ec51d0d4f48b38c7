/** Other spellings of an answer that mean the same. */
export type Spelling = {
  readonly name: string;
  /** Returns undefined if the answer has no such spelling. */
  readonly spell: (answer: string) => string | undefined;
};

const wholeNumber = /^-?\d+$/;
const isNumber = (answer: string): boolean => /^-?\d+(?:\.\d+)?$/.test(answer);
const isWords = (answer: string): boolean => /\p{L}{2}/u.test(answer) && !/[{}[\]\\=]/.test(answer);
const spellIf =
  (fits: (answer: string) => boolean, write: (answer: string) => string): Spelling['spell'] =>
  (answer) =>
    fits(answer) ? write(answer) : undefined;

export const spellings: readonly Spelling[] = [
  { name: 'with spaces around it', spell: (answer) => `  ${answer}  ` },
  {
    name: 'with a full stop',
    spell: spellIf(
      (answer) => isNumber(answer) || isWords(answer),
      (answer) => `${answer}.`,
    ),
  },
  { name: 'in quotes', spell: spellIf(isWords, (answer) => `"${answer}"`) },
  { name: 'in capitals', spell: spellIf(isWords, (answer) => answer.toUpperCase()) },
  {
    name: 'in small letters',
    spell: spellIf(
      (answer) => isWords(answer) && /\p{Lu}/u.test(answer),
      (answer) => answer.toLowerCase(),
    ),
  },
  {
    name: 'a whole number with .0',
    spell: spellIf(
      (answer) => wholeNumber.test(answer),
      (answer) => `${answer}.0`,
    ),
  },
  {
    name: 'with a trailing zero',
    spell: spellIf(
      (answer) => /^-?\d+\.\d+$/.test(answer),
      (answer) => `${answer}0`,
    ),
  },
  { name: 'with commas between thousands', spell: spellThousands(',') },
  { name: 'with LaTeX dollars', spell: spellIf(isNumber, (answer) => `$${answer}$`) },
  {
    name: 'with a plus sign',
    spell: spellIf(
      (answer) => isNumber(answer) && !answer.startsWith('-'),
      (answer) => `+${answer}`,
    ),
  },
  { name: 'a fraction as a decimal', spell: spellFraction },
  {
    name: 'a letter of choice in brackets',
    spell: spellIf(
      (answer) => /^[A-Z]$/.test(answer),
      (answer) => `(${answer})`,
    ),
  },
  {
    name: 'a small letter of choice',
    spell: spellIf(
      (answer) => /^[A-Z]$/.test(answer),
      (answer) => answer.toLowerCase(),
    ),
  },
  { name: 'JSON with line breaks', spell: spellJson },
];

function spellThousands(separator: string): Spelling['spell'] {
  return spellIf(
    (answer) => /^-?\d{4,}$/.test(answer),
    (answer) => answer.replaceAll(/\B(?=(?:\d{3})+$)/g, separator),
  );
}

function spellFraction(answer: string): string | undefined {
  const [, over = '', under = ''] = /^(-?\d+)\/(\d+)$/.exec(answer) ?? [];
  const value = Number(over) / Number(under);
  return Number.isFinite(value) && Number(value.toFixed(6)) === value ? String(value) : undefined;
}

function spellJson(answer: string): string | undefined {
  try {
    const value: unknown = JSON.parse(answer);
    return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : undefined;
  } catch {
    return undefined;
  }
}
