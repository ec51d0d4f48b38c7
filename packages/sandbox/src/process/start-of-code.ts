import { randomUUID } from 'node:crypto';

/** Tells what a sandbox says on standard error before the code begins from what the code says there: code may say anything. */
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
