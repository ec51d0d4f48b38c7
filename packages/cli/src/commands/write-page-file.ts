import { writeFileSync } from 'node:fs';
import { AgentJetError, toErrorMessage } from '@agentjet/core';

/** Writes a page to the file that the user named with `flag`. Throws AgentJetError `unwritable_page`. */
export function writePageFile(file: string, html: string, flag: string): void {
  try {
    writeFileSync(file, html);
  } catch (cause) {
    throw new AgentJetError(
      'unwritable_page',
      `Cannot write the page: ${toErrorMessage(cause)}. Name another file: ${flag} <file>.`,
      { cause },
    );
  }
}
