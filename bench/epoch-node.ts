// A simulated beacon node for the epoch benchmark, in a process of its own. It serves a network as large as mainnet. Each
// message is an epoch that becomes final.
import { LargeNetwork } from '#simulator/beacon/large/large-network.ts'
import { openLargeNode } from '#simulator/beacon/large/large-node.ts'
import { mainnetPlan } from '#simulator/beacon/large/large-plan.ts'

const [variant, count, firstEpoch, genesisUnix] = process.argv.slice(2)
const plan = {
  ...mainnetPlan,
  fork: variant === 'fulu' ? 'fulu' : 'gloas',
  prunesEnvelopes: variant === 'pruned',
  count: Number(count),
} as const
const node = await openLargeNode(new LargeNetwork(plan, Number(firstEpoch) - 1), Number(genesisUnix))

process.on('message', (epoch) => {
  node.finalize(Number(epoch))
  process.send?.('final')
})
process.on('disconnect', () => process.exit())
process.send?.(node.url)
