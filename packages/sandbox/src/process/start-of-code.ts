import { randomUUID } from 'node:crypto';

/** Separates the sandbox's messages on standard error before the code begins from the code's output, which may contain anything. */
export class StartOfCode {
  readonly mark = `ready-${randomUUID()}`;
  isReady = false;
  before = '';

  read(text: string, onReady: () => void): string {
    if (this.isReady) return text;
    this.before += text;
    const at = this.before.indexOf(`${this.mark}\n`);
    if (at === -1) return '';
    this.isReady = true;
    onReady();
    return this.before.slice(at + this.mark.length + 1);
  }
}
