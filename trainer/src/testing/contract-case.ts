export type { ContractCase } from '@agentjet/core';

/** Opens the subject of a case, and closes it even if the case fails. */
export async function withOpened<Subject extends { close(): Promise<void> }>(
  open: () => Promise<Subject>,
  use: (subject: Subject) => Promise<void>,
): Promise<void> {
  const subject = await open();
  try {
    await use(subject);
  } finally {
    await subject.close();
  }
}
