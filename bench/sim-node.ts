// A simulated node in a process of its own, so that it never shares a thread with what is measured. Prints its address.
import { SimChain } from '#sim/evm/chain.ts'
import { SimNode } from '#sim/evm/node.ts'

const chain = new SimChain({ seed: 'bench index', finalLag: 64, busy: 40, people: 2000 })
chain.mine(Number(process.argv[2]))
const transfers = chain.blocks.reduce((sum, { transfers }) => sum + transfers.length, 0)
console.log(JSON.stringify({ url: await new SimNode(chain).listen(), blocks: chain.blocks.length, transfers }))
