// A beacon node for benchmarks, in a process of its own. It makes the chain of a large network, whose validators vote in
// every slot, and serves its blocks and first state. It sends its URL. Each message is an epoch that becomes final.
//   node bench/epoch-node.ts VALIDATORS EPOCHS
import { readFile } from 'node:fs/promises'
import { makeChain } from '#test/made-chain.ts'
import { openMadeChainNode } from '#test/made-chain-node.ts'
import { nativeValidatorsMin } from '#validators/chain/native-library.ts'

const [validators = 0, epochs = 0] = process.argv.slice(2).map(Number)
const slotsPerEpoch = 32
/** As on mainnet. */
const payloadBytes = 100_000
const chain = await makeChain({
  ...{ preset: 'mainnet', validators, payloadBytes },
  engine: validators < nativeValidatorsMin ? 'typescript' : 'native',
  // An epoch is final with the first block two epochs later.
  slots: (epochs + 2) * slotsPerEpoch + 1,
})
const node = await openMadeChainNode(chain)
node.head = 0
node.states.set('0', await readFile(chain.stateFile))

process.on('message', (epoch) => {
  node.finalized = Number(epoch)
  node.head = (Number(epoch) + 2) * slotsPerEpoch
  process.send?.('final')
})
process.on('disconnect', async () => {
  await chain[Symbol.asyncDispose]()
  process.exit()
})
process.send?.(node.url)
