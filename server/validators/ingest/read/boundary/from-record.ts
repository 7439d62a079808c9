// When: the states of the epoch were recorded while it was not final, for the chain that became final.
// Proves: as much as a state of the node. The record was read from a node and belongs to the verified anchor block.
// Costs: no request. The reader has loaded the record from disk (epoch-reader.ts).
import type { ReadBoundary } from '../boundary-way.ts'

export const fromRecord: ReadBoundary = async ({ recorded }, epoch) => recorded.get(epoch)
