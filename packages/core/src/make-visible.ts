/**
 * Replaces control characters by their pictures, because text from a model, a user or an error must not control the
 * terminal. Characters that change the direction of text are replaced too.
 */
export function makeVisible(text: string): string {
  return text
    .replaceAll(/(?![\t\n])\p{Cc}/gu, (character) =>
      character < ' ' ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : '␡',
    )
    .replaceAll(/[\u202a-\u202e\u2066-\u2069\u2028\u2029]/g, '\ufffd');
}

/** Like `makeVisible`, in one line: for names and log lines. */
export const toOneLine = (text: string): string => makeVisible(text.replaceAll(/\r?\n|\t/g, ' '));
