import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const places = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/google-chrome'];

/** A Chromium of the system. Undefined if there is none: tests are skipped then, and say so. AJET_CHROMIUM names another one. */
export const chromiumPath = [process.env['AJET_CHROMIUM'] ?? '', ...places].find(
  (file) => file !== '' && existsSync(file),
);

export function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('There is no Chromium.');
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
}
