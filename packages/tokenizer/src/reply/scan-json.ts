/** Tracks the nesting of JSON character by character, for text that arrives piece by piece. */
export type JsonScanner = {
  /** Reads one more character. Only quotes and brackets are matched. */
  step(character: string): void;
  readonly isInString: boolean;
  /** Number of open brackets. */
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
