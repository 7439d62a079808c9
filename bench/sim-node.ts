// A simulated node in its own process, so that it does not share a thread with what is measured. Prints its URL.
//   node bench/sim-node.ts BLOCKS [TRANSACTIONS_PER_BLOCK] [INPUT_BYTES_PER_STEP]
import { SimChain } from '#simulator/evm/chain.ts'
import { SimNode } from '#simulator/evm/node.ts'

const [blocks = 0, busy = 40, inputBytes = 0] = process.argv.slice(2).map(Number)
const chain = new SimChain({ seed: 'bench index', finalLag: 64, busy, accounts: 2000 })
chain.mine(blocks)
const transfers = chain.blocks.reduce((sum, { transfers }) => sum + transfers.length, 0)
const node = new SimNode(chain, { traces: ['trace_block'], inputBytes })
console.log(JSON.stringify({ url: await node.listen(), blocks: chain.blocks.length, transfers }))
