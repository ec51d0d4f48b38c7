function parseSeeds(text: string): readonly number[] {
  const seeds = text.split(',').map(Number);
  const wrong = seeds.find((seed) => !Number.isInteger(seed) || seed < 0);
  if (wrong !== undefined) throw new Error(`--seeds is "${text}"; it must be whole numbers such as 1,2,3.`);
  return seeds;
}

function parseMinutes(text: string | undefined): number {
  const minutes = Number(text ?? Infinity);
  if (minutes > 0) return minutes;
  throw new Error(`--minutes is "${text}"; it must be a number such as 80.`);
}

type Options = {
  readonly gate: boolean;
  readonly seeds?: string | undefined;
  readonly minutes?: string | undefined;
  readonly progress?: boolean | undefined;
  readonly out?: string | undefined;
  readonly join?: string | undefined;
};

/** Throws an Error if a value cannot be read or an option would be ignored. */
export function checkOptions({ gate, seeds, minutes, progress = false, out, join }: Options): {
  readonly seeds: readonly number[];
  readonly minutes: number;
} {
  if (gate && seeds !== undefined)
    throw new Error(
      '--seeds does not go with --gate, which chooses seeds that no kept result has used. Leave one of them out.',
    );
  if (!gate && minutes !== undefined) throw new Error('--minutes goes with --gate. Add --gate, or leave it out.');
  if (!gate && progress) throw new Error('--progress goes with --gate. Add --gate, or leave it out.');
  if (gate && out !== undefined) throw new Error('--out does not go with --gate, which keeps nothing. Leave it out.');
  if (join !== undefined && (gate || seeds !== undefined || out !== undefined))
    throw new Error('--join takes finished results, so it goes without --gate, --seeds and --out.');
  return { seeds: parseSeeds(seeds ?? '1,2,3'), minutes: parseMinutes(minutes) };
}
