// A simulated beacon node of a large network. It offers what ingest requests of a node that keeps everything: blocks,
// envelopes and whole states as SSZ, the rest as JSON.
import { type SimulatedServer, sendJson, startSimulatedServer } from '../../listen.ts'
import type { LargeNetwork } from './large-network.ts'
import { specOf } from './large-plan.ts'

export interface LargeNode extends SimulatedServer {
  /** Prepares all epochs that ingest reads until this one is final. */
  finalize(epoch: number): void
}

export async function openLargeNode(network: LargeNetwork, genesisUnix: number): Promise<LargeNode> {
  const { plan } = network
  let finalized = 0
  const respond = (path: string): object | Buffer | undefined => {
    const number = Number(/(\d+)(?:$|\/(?:finality|sync))/.exec(path)?.[1] ?? 0)
    const epoch = number / plan.slotsPerEpoch
    const found = network.block(number)
    if (path.includes('/genesis'))
      return { genesis_time: String(genesisUnix), genesis_validators_root: `0x${'22'.repeat(32)}` }
    if (path.includes('/spec')) return specOf(plan)
    if (path.includes('/blocks/')) return found?.bytes
    if (path.includes('/execution_payload_envelopes/')) return found?.envelope
    if (path.includes('/headers/')) return found && { root: found.block.root, header: { message: found.header } }
    if (path.includes('/debug/')) return Number.isInteger(epoch) ? network.state(epoch) : undefined
    if (path.includes('/finality_checkpoints'))
      return { finalized: { epoch: String(path.includes('head') ? finalized : Math.floor(epoch) - 2) } }
    return path.includes('/sync_committees') ? { validators: Array.from(network.syncSeats, String) } : undefined
  }
  const server = await startSimulatedServer((request, _body, response) => {
    const reply = request.method === 'GET' ? respond(request.url ?? '/') : undefined
    if (reply === undefined) sendJson(response, 404, '{"code":404,"message":"not found"}')
    else if (Buffer.isBuffer(reply))
      response
        .writeHead(200, { 'content-type': 'application/octet-stream', 'eth-consensus-version': plan.fork })
        .end(reply)
    else sendJson(response, 200, JSON.stringify({ data: reply }))
  }, '{"code":400,"message":"invalid request"}')
  return {
    ...server,
    finalize(epoch) {
      network.prepare(epoch + 1)
      finalized = epoch
    },
  }
}
