type Metadata = Readonly<Record<string, unknown>>;

/** Metadata with more JSON characters than this is shortened. */
const maxLength = 4000;
/** When metadata is shortened, a value with more JSON characters than this loses its end. */
const maxValueLength = 500;

/**
 * Returns the metadata of a task for a record. It usually contains the value that the judge compares an answer with. If
 * the metadata is long, only the beginnings of long values are kept, and the longest values are left out. Returns
 * undefined if there is no metadata.
 */
export function shortenMetadata(metadata: Metadata): Metadata | undefined {
  const whole = Object.entries(metadata).map(([key, value]) => ({ key, ...toJson(value) }));
  if (whole.length === 0) return undefined;
  const isShort = whole.reduce((sum, { length }) => sum + length, 0) <= maxLength;
  const kept = isShort ? whole : withinLimit(whole.map((entry) => ({ ...entry, ...shorten(entry) })));
  return Object.fromEntries(kept.map(({ key, value }) => [key, value]));
}

type Entry = { readonly key: string; readonly value: unknown; readonly length: number };

/**
 * Converts a metadata value to JSON. A task from code may have a value that JSON cannot express; its string is used
 * instead.
 */
function toJson(value: unknown): Pick<Entry, 'value' | 'length'> {
  try {
    const json = JSON.stringify(value) ?? 'null';
    return { value: JSON.parse(json) as unknown, length: json.length };
  } catch {
    return { value: String(value), length: String(value).length };
  }
}

function shorten({ value, length }: Entry): Pick<Entry, 'value' | 'length'> {
  if (length <= maxValueLength) return { value, length };
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const rest = ` ... (${text.length} characters)`;
  return { value: `${text.slice(0, maxValueLength - rest.length)}${rest}`, length: maxValueLength };
}

/** Leaves out the longest values until the others fit, and keeps the order of the others. */
function withinLimit(entries: readonly Entry[]): readonly Entry[] {
  let left = maxLength;
  const kept = new Set<Entry>();
  for (const entry of entries.toSorted((one, other) => one.length - other.length)) {
    left -= entry.length;
    if (left >= 0) kept.add(entry);
  }
  return entries.filter((entry) => kept.has(entry));
}
