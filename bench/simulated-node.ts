// A simulated node in its own process, so that it does not share a thread with what is measured. Prints its URL.
//   node bench/simulated-node.ts BLOCKS [TRANSACTIONS_PER_BLOCK] [INPUT_BYTES_PER_STEP]
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'

const [blocks = 0, busy = 40, inputBytes = 0] = process.argv.slice(2).map(Number)
const chain = new SimulatedChain({ seed: 'bench index', finalLag: 64, busy, accounts: 2000 })
chain.mine(blocks)
const transfers = chain.blocks.reduce((sum, { transfers }) => sum + transfers.length, 0)
const node = new LimitedNode(chain, { traces: ['trace_block'], inputBytes })
console.log(JSON.stringify({ url: await node.listen(), blocks: chain.blocks.length, transfers }))
