// A simulated beacon node: serves the Beacon API over HTTP for a simulated network, like one of the known clients or with
// single features.
import type { ServerResponse } from 'node:http'
import { type SimulatedServer, sendJson, startSimulatedServer } from '../listen.ts'
import { BeaconApi, type NodeReply } from './beacon-api.ts'
import type { NodeProfile } from './node-profile.ts'
import type { SimulatedNetwork } from './records.ts'

/** Features that are given here replace those of the profile. */
export interface BeaconNodeOptions extends Partial<NodeProfile> {
  /** Default: a node that keeps everything and offers the minimum of endpoints. */
  readonly profile?: NodeProfile
  /** The slot of the checkpoint from which the node was synced. Default: 0. */
  readonly checkpointSlot?: number
  /** Slots whose blocks are missing. */
  readonly lacks?: (slot: number) => boolean
  /** The reported finalized epoch; default: that of the network. */
  readonly finalized?: () => number
  /** Id of the execution chain. */
  readonly chainId?: string
}

export interface SimulatedBeaconNode extends SimulatedServer {
  requestCount(): number
}

export async function openNode(
  network: SimulatedNetwork,
  options: BeaconNodeOptions = {},
): Promise<SimulatedBeaconNode> {
  const api = new BeaconApi(network, options)
  let requestCount = 0
  const server = await startSimulatedServer(async (request, body, response) => {
    requestCount += 1
    if (!network.intercept?.(request, response)) send(response, await api.respond(request, body))
  }, '{"code":400,"message":"invalid request"}')
  return { ...server, requestCount: () => requestCount }
}

function send(response: ServerResponse, reply: NodeReply): void {
  if ('status' in reply) {
    const isText = typeof reply.body === 'string'
    const type = isText ? 'text/plain; charset=utf-8' : 'application/json'
    response.writeHead(reply.status, { 'content-type': type }).end(isText ? reply.body : JSON.stringify(reply.body))
    return
  }
  const version = reply.version === undefined ? {} : { 'eth-consensus-version': reply.version }
  if ('bytes' in reply)
    response.writeHead(200, { 'content-type': 'application/octet-stream', ...version }).end(reply.bytes)
  else sendJson(response, 200, JSON.stringify({ ...reply.more, data: reply.json }), version)
}
