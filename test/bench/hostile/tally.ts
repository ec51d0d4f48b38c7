/** Counts the attempts, and records those that went wrong. */
export class Tally {
  tried = 0;
  readonly #wrong: string[] = [];

  count(name: string, isRight: boolean, said = ''): void {
    this.tried++;
    if (!isRight) this.#wrong.push(`${name}: ${said}`);
  }

  get wrong(): readonly string[] {
    return this.#wrong;
  }
}
