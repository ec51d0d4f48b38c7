import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRandom, deriveSeed, type Random } from '@agentjet/core';

/**
 * Writes the documents of this tutorial: short pages about invented buildings, so no model knows the answers already.
 */

const buildings = ['mill', 'bridge', 'castle', 'tower', 'chapel', 'harbour'];
const syllables = ['ke', 'lo', 'ra', 'ti', 'mu', 'sa', 've', 'no', 'di', 'ba', 'go', 'fi', 'pe', 'lu', 'ma', 'ru'];
const keepers = ['Ann', 'Ben', 'Cleo', 'Dan', 'Eve', 'Finn', 'Gus', 'Hana', 'Ida', 'Jon', 'Kim', 'Leo', 'Mia', 'Ned'];
const colours = ['red', 'green', 'blue', 'white', 'black', 'grey', 'brown', 'yellow'];

export const attributes = ['built', 'high', 'steps', 'cost', 'keeper', 'colour'] as const;
export type Attribute = (typeof attributes)[number];

/** For each attribute: the sentence about it, and the question about it. */
export const forms: Readonly<
  Record<Attribute, { readonly tell: (value: string) => string; readonly ask: (place: string) => string }>
> = {
  built: { tell: (year) => `It was built in ${year}.`, ask: (place) => `When was the ${place} built?` },
  high: { tell: (metres) => `It is ${metres} metres high.`, ask: (place) => `How high is the ${place}?` },
  steps: { tell: (count) => `It has ${count} steps.`, ask: (place) => `How many steps has the ${place}?` },
  cost: { tell: (price) => `A visit will cost ${price} pence.`, ask: (place) => `What does the ${place} cost?` },
  keeper: { tell: (name) => `The keeper is ${name}.`, ask: (place) => `Who is the keeper of the ${place}?` },
  colour: { tell: (colour) => `The colour is ${colour}.`, ask: (place) => `What is the colour of the ${place}?` },
};

export type Place = {
  /** Such as "mill of Kelora". */
  readonly place: string;
  readonly values: Readonly<Record<Attribute, string>>;
  readonly order: readonly Attribute[];
};

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.int(items.length)];
  if (item === undefined) throw new RangeError('Cannot pick from an empty list.');
  return item;
}

/** Makes a name of two or three syllables that starts with a capital letter. */
function drawName(random: Random): string {
  const text = Array.from({ length: 2 + random.int(2) }, () => pick(syllables, random)).join('');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function drawPlace(name: string, random: Random): Place {
  return {
    place: `${pick(buildings, random)} of ${name}`,
    values: {
      built: String(1500 + random.int(480)),
      high: String(11 + random.int(80)),
      steps: String(100 + random.int(800)),
      cost: String(2 + random.int(8)),
      keeper: pick(keepers, random),
      colour: pick(colours, random),
    },
    order: attributes
      .map((attribute) => ({ attribute, key: random.next() }))
      .toSorted((a, b) => a.key - b.key)
      .map(({ attribute }) => attribute),
  };
}

/** Returns places with different names, none of which is in `taken`. */
export function drawPlaces(count: number, seed: number, taken: ReadonlySet<string> = new Set()): readonly Place[] {
  const random = createRandom(deriveSeed(seed, 'places'));
  const names = new Set<string>();
  while (names.size < count) {
    const name = drawName(random);
    if (!taken.has(name)) names.add(name);
  }
  return [...names].map((name) => drawPlace(name, random));
}

export function nameOf({ place }: Pick<Place, 'place'>): string {
  return place.split(' ').at(-1) ?? '';
}

/** Returns the page about a place, in Markdown. */
export function writePage({ place, values, order }: Place): string {
  const sentences = order.map((attribute) => forms[attribute].tell(values[attribute]));
  return `# The ${place}\n\n${sentences.join(' ')}\n`;
}

/** The places of the documents in `documents/`. */
export const documentedPlaces = drawPlaces(60, 1);

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = path.join(import.meta.dirname, 'documents');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (const place of documentedPlaces)
    await writeFile(path.join(folder, `${nameOf(place).toLowerCase()}.md`), writePage(place));
}
