// The thread on which epochs are made into columns: one for all networks of a server. It opens no store; it
// hands its columns over, buffers and all, to the thread that writes duties.
import type { Network } from '#api/wire/validators.ts'
import { type Handed, serveThread, threadStart } from '#io/thread.ts'
import { type Mill, type PieceRequest, piecesBuffers } from './mill.ts'
import { type MillStart, openMill } from './mills.ts'

const mills = new Map<Network, Mill>(
  threadStart<readonly MillStart[]>().map((start) => [start.network, openMill(start)]),
)

function millOf(network: Network): Mill {
  const mill = mills.get(network)
  if (!mill) throw new Error(`this thread was not told about ${network}`)
  return mill
}

serveThread({
  chain: async (network: Network, signal): Promise<Handed> => ({ value: await millOf(network).chain(signal) }),
  finalizedEpoch: async (network: Network, signal) => ({ value: await millOf(network).finalizedEpoch(signal) }),
  piece: async ({ network, ...request }: PieceRequest & { readonly network: Network }, signal) => {
    const piece = await millOf(network).piece(request, signal)
    return { value: piece, transfer: piecesBuffers(piece) }
  },
})
