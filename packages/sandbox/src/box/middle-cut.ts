/** Keeps the beginning and the end of a long text. */
export class MiddleCut {
  readonly #most: number;
  #head = '';
  #tail = '';
  #left = 0;

  constructor(mostCharacters: number) {
    this.#most = mostCharacters;
  }

  add(text: string): void {
    const half = Math.ceil(this.#most / 2);
    const room = Math.max(0, half - this.#head.length);
    this.#head += text.slice(0, room);
    const tail = this.#tail + text.slice(room);
    const over = Math.max(0, tail.length - (this.#most - half));
    this.#left += over;
    this.#tail = tail.slice(over);
  }

  text(): string {
    if (this.#left === 0) return this.#head + this.#tail;
    return `${this.#head}\n[${this.#left} characters are left out]\n${this.#tail}`;
  }
}
