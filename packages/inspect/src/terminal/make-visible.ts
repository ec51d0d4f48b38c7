/**
 * Replaces control characters by their pictures, because text from a model, a user or an error must not control the
 * terminal.
 */
export function makeVisible(text: string): string {
  return text.replaceAll(/(?![\t\n])\p{Cc}/gu, (character) =>
    character < ' ' ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : '␡',
  );
}
