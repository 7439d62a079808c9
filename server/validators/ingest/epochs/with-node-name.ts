// Adds the name of the only node that can have caused a contradiction.
import { ContradictionError } from '#sources/beacon/client.ts'

export const withNodeName = (error: ContradictionError, node: string): ContradictionError =>
  new ContradictionError(`${error.message}; node ${node}`, error.differencesKey)
