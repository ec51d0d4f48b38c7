/** Control characters as their pictures: what a model, a user or an error says must not steer the terminal. */
export function makeVisible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (character) => (character < ' ' ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : '␡'));
}
