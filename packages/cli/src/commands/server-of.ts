/** The given address, the address from the environment, or a server on this machine. */
export const serverOf = ({ server }: { readonly server?: string | undefined }): string =>
  server ?? process.env['AJET_SWARM_SERVER'] ?? 'http://127.0.0.1:8700';
