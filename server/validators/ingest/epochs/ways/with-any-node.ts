// When: always. Each request goes to any node that answers, and records of states are used instead of requests.
// Proves: the responses of the nodes do not contradict each other, the records or the consensus rules.
// Costs: every response is requested once.
import { ContradictionError } from '#sources/beacon/client.ts'
import { type ProcessWay, processFrom } from '../segment-way.ts'
import { withNodeName } from '../with-node-name.ts'

export const withAnyNode: ProcessWay = async (context, attempt) => {
  const { beacon, records, agreedDifferences } = context
  const accept = (differencesKey: string) => agreedDifferences.has(differencesKey)
  try {
    return { is: 'segment', segment: await processFrom({ beacon, records, accept }, context, attempt) }
  } catch (error) {
    if (!(error instanceof ContradictionError)) throw error
    const [node, ...others] = beacon.each()
    const contradiction = node && others.length === 0 ? withNodeName(error, node.name) : error
    return { is: 'next', found: { contradiction } }
  }
}
