/** Quotes a string for a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
