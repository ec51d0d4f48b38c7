/** One statement of a contract, that every implementation must meet. Needs no test framework: it throws where it is broken. */
export type ContractCase = { readonly name: string; readonly run: () => Promise<void> };

/** Opens what a case looks at, and closes it again whatever happens. */
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
