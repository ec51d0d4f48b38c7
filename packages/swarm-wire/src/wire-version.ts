/**
 * The version of the protocol. A client sends it with every request, and a server refuses any other version with an
 * error that names it.
 */
export const wireVersion = '1';

export const wireVersionHeader = 'x-ajet-wire';
