import { randomUUID } from 'node:crypto';

/**
 * Standard error contains messages of the sandbox until the code begins, and then output of the code, which may be
 * anything. This string separates the two.
 */
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
