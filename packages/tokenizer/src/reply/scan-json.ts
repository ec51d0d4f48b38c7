/** Where JSON text stands, character by character: for text that comes piece by piece, each piece read once. */
export type JsonScanner = {
  /** Reads one more character; quotes and brackets are matched, nothing else is checked. */
  step(character: string): void;
  readonly isInString: boolean;
  /** How many brackets are open. */
  readonly depth: number;
};

export function createJsonScanner(): JsonScanner {
  let isInString = false;
  let isEscaped = false;
  let depth = 0;
  return {
    step(character) {
      if (isEscaped) isEscaped = false;
      else if (isInString && character === '\\') isEscaped = true;
      else if (character === '"') isInString = !isInString;
      else if (!isInString && (character === '{' || character === '[')) depth++;
      else if (!isInString && (character === '}' || character === ']')) depth--;
    },
    get isInString() {
      return isInString;
    },
    get depth() {
      return depth;
    },
  };
}
