/** Control characters as their pictures: what a model, a user or an error says must not steer the terminal. */
export function makeVisible(text: string): string {
  return text.replaceAll(/(?![\t\n])\p{Cc}/gu, (character) =>
    character < ' ' ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : '␡',
  );
}
