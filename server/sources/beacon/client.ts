// Client of the Beacon API. It combines several nodes of one network, in order of preference, into one source.
//
// 1. 404 ("not found") is a result, not a failure. It is accepted if no other healthy node has the data.
// 2. A node that fails is skipped for a while, longer after each failure. The number of attempts per request is
//    limited.
// 3. A node is used only if its genesis and slot times are those of the network. This is checked again after a failure.
// 4. Every response has a time limit and a size limit.

import { nameOfChain } from '#core/known-chains.ts'
import { cleanUrl, cleanUrls, FetchError } from '../http-client.ts'
import { lacksFork, schedulesOtherForks, type UnknownFork } from './consensus.ts'
import {
  BeaconEndpoint,
  type BeaconOptions,
  type BeaconReply,
  type BeaconRequest,
  type Chain,
  type ChainIdentity,
} from './endpoint.ts'
import { InvalidResponseError, MismatchError, UnscheduledForkError } from './json.ts'
import { SszError } from './ssz.ts'

/** `node`: the name of the node that has replied. */
export type ReadReply<T> = (reply: BeaconReply, node: string) => T

export interface Beacon {
  /** Genesis and rules, requested once. */
  chain(signal?: AbortSignal): Promise<Chain>
  /** Returns what `read` returns; undefined if no node has the data. If `read` throws, the node counts as failed. */
  request<T>(request: BeaconRequest, read: ReadReply<T>, signal?: AbortSignal): Promise<T | undefined>
  /** Each node on its own, in the order of the settings. */
  each(): readonly SingleBeacon[]
  /** The last error of each node; undefined if its last request succeeded. */
  health(): readonly { readonly name: string; readonly lastError: string | undefined }[]
}

/** One node of several. */
export interface SingleBeacon {
  readonly name: string
  readonly beacon: Beacon
  /** Its responses contradicted each other: prefer the other nodes for a while. */
  distrust(reason: string): void
  isDistrusted(): boolean
  /** One attempt. Undefined: the node does not have the data, has failed, or waits after a failure. */
  ask<T>(request: BeaconRequest, read: ReadReply<T>, signal?: AbortSignal): Promise<T | undefined>
  /** How the node last answered that it does not have the requested data, such as `status 404: …`. */
  lastNotFound(): string | undefined
}

/** No node returned a usable response; the message is the last error. A later attempt may succeed. */
export class BeaconError extends Error {
  override readonly name: string = 'BeaconError'
}

/** Responses of a node contradict each other or the consensus rules. Nothing of the epoch is stored. */
export class ContradictionError extends BeaconError {
  override readonly name = 'ContradictionError'
  /**
   * Identifies unexplained balances: if two nodes have the same ones, they are accepted. Undefined: the contradiction is
   * about something else, and is never accepted.
   */
  readonly differencesKey: string | undefined

  constructor(message: string, differencesKey?: string) {
    super(message)
    this.differencesKey = differencesKey
  }
}

/** The chain has reached a fork that this version does not support (behaviour/validators.md#unknown-forks). */
export class UnknownForkError extends BeaconError {
  override readonly name = 'UnknownForkError'

  constructor({ name, epoch }: UnknownFork, prefix = '') {
    super(`${prefix}this version of Tetrad does not support the fork ${name} of epoch ${epoch}; update Tetrad`)
  }
}

/** The node is on another chain than the one that the settings or the stored data name. */
export class OtherChainError extends BeaconError {
  override readonly name = 'OtherChainError'
}

/** Every attempt was answered with status 500. Some nodes and proxies answer so if they do not have a state. */
export class ServerStatusError extends BeaconError {
  override readonly name = 'ServerStatusError'
}

/** Throws if the chain differs from what is known of the network. */
export function refuseOtherChain(
  network: string,
  identity: ChainIdentity,
  expected: Partial<ChainIdentity> | undefined,
): void {
  const mismatch = expected && findDifference(identity, expected)
  if (!mismatch) return
  const name = nameOfChain(identity)
  throw new OtherChainError(
    `it is on another chain${name ? ` (${name})` : ''}: ${mismatch} is ${identity[mismatch]}, not ` +
      `${expected?.[mismatch]}; use a node of ${network}, or correct validators.networks.${network}`,
  )
}

/** Compares what both state. */
const findDifference = (identity: ChainIdentity, expected: Partial<ChainIdentity>): keyof ChainIdentity | undefined =>
  (Object.keys(identity) as (keyof ChainIdentity)[]).find(
    (key) => expected[key] !== undefined && identity[key] !== undefined && expected[key] !== identity[key],
  )

const attemptsPerNode = 3
const attemptsMin = 5
export function openBeacon(options: BeaconOptions): Beacon {
  const names = cleanUrls(options.urls)
  const all = options.urls.map((url, at) => new BeaconEndpoint(url, names[at] ?? cleanUrl(url), options))
  let known: Chain | undefined
  const chainOf = async (node: BeaconEndpoint, signal: AbortSignal | undefined): Promise<Chain> => {
    const chain = await node.chain(signal)
    refuseOtherChain(options.network, chain.identity, known?.identity ?? options.identity)
    return chain
  }
  /** Nothing says which chain is the right one, so all nodes that respond must be on the same one. */
  async function refuseDifferentChains(signal: AbortSignal | undefined): Promise<void> {
    const answers = await Promise.all(
      all.map(async (node) => ({ node, chain: await chainOf(node, signal).catch(() => undefined) })),
    )
    const [first, ...others] = answers.flatMap(({ node, chain }) => (chain ? [{ node, chain }] : []))
    for (const { node, chain } of others) {
      const key = first && findDifference(chain.identity, first.chain.identity)
      if (!first || !key) continue
      throw new OtherChainError(
        `${options.network}: its nodes are on different chains: ${key} is ${first.chain.identity[key]} at ` +
          `${first.node.name}, and ${chain.identity[key]} at ${node.name}; remove one of them from ` +
          `validators.networks.${options.network}.beacon.urls`,
      )
    }
  }
  /** A fork that was scheduled before is withdrawn only if no node schedules it any more: one may not be upgraded. */
  const isWithdrawn = ({ rules }: Chain): boolean =>
    known !== undefined &&
    lacksFork(rules, known.rules) &&
    all.every(({ lastRules = rules }) => lacksFork(lastRules, known?.rules ?? rules))
  const viewOf = (nodes: readonly BeaconEndpoint[]): Beacon => {
    const tryNodes = <T>(work: (node: BeaconEndpoint) => Promise<T>, signal?: AbortSignal) =>
      tryNodesInOrder(nodes, options, work, signal)
    return {
      async chain(signal) {
        if (known) return known
        if (nodes.length > 1 && options.identity?.genesisRoot === undefined) await refuseDifferentChains(signal)
        known = await tryNodes((node) => chainOf(node, signal), signal)
        return known
      },
      request: (request, read, signal) =>
        tryNodes(async (node) => {
          const chain = await chainOf(node, signal)
          // A node that was updated may list a fork that was not scheduled before.
          if (!known || schedulesOtherForks(chain.rules, known.rules) || isWithdrawn(chain)) known = chain
          const readFrom = (from: BeaconEndpoint) => (reply: BeaconReply) => read(reply, from.name)
          const value = await node.request(request, readFrom(node), signal)
          if (value !== undefined) return value
          return askOtherNodes(nodes, node, async (other) => {
            await chainOf(other, signal)
            return other.request(request, readFrom(other), signal)
          })
        }, signal),
      each: () =>
        nodes.map((node) => ({
          name: node.name,
          beacon: viewOf([node]),
          distrust: (reason) => node.distrust(reason),
          isDistrusted: () => node.isDistrusted(),
          ask: (request, read, signal) =>
            askOtherNodes([node], undefined, async () => {
              await chainOf(node, signal)
              return node.request(request, (reply) => read(reply, node.name), signal)
            }),
          lastNotFound: () => node.lastNotFound,
        })),
      health: () => nodes.map(({ name, lastError }) => ({ name, lastError })),
    }
  }
  return viewOf(all)
}

/** Asks each of the other healthy nodes once. Their failures do not fail the request. */
async function askOtherNodes<T>(
  nodes: readonly BeaconEndpoint[],
  except: BeaconEndpoint | undefined,
  work: (node: BeaconEndpoint) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const node of nodes) {
    if (node === except || node.backoffRemainingMs() > 0) continue
    try {
      const value = await work(node)
      if (value !== undefined) return value
    } catch (error) {
      if (!isNodeError(error)) throw error
      node.backOff(describeNodeError(error, node))
    }
  }
  return undefined
}

const isNodeError = (error: unknown): error is Error =>
  (error instanceof FetchError && error.failure !== 'stopped') ||
  error instanceof InvalidResponseError ||
  error instanceof UnknownForkError ||
  error instanceof OtherChainError ||
  error instanceof SszError

/** The callers distinguish these errors. */
const toFailure = (error: Error, message: string): BeaconError => {
  if (error instanceof UnknownForkError) return error
  // No node has a response that fits: the earlier response may be what is wrong.
  if (error instanceof MismatchError) return new ContradictionError(message)
  return error instanceof OtherChainError ? new OtherChainError(message) : new BeaconError(message)
}

const describeNodeError = (error: Error, node: BeaconEndpoint): string =>
  error instanceof FetchError ? error.message : `${node.name}: ${error.message}`

async function tryNodesInOrder<T>(
  nodes: readonly BeaconEndpoint[],
  { clock, network }: BeaconOptions,
  work: (node: BeaconEndpoint) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  let failure: BeaconError | undefined
  let isAlwaysStatus500 = true
  let unscheduled = 0
  const attemptsMax = Math.max(attemptsMin, nodes.length * attemptsPerNode)
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const node =
      nodes.find((candidate) => candidate.backoffRemainingMs() === 0) ??
      [...nodes].sort((a, b) => a.backoffRemainingMs() - b.backoffRemainingMs())[0]
    if (!node) break
    if (node.backoffRemainingMs() > 0) await clock.sleep(Math.ceil(node.backoffRemainingMs()), signal)
    signal?.throwIfAborted()
    try {
      return await work(node)
    } catch (error) {
      signal?.throwIfAborted()
      if (!isNodeError(error)) throw error
      const reason = describeNodeError(error, node)
      failure = toFailure(error, `${network}: ${reason}`)
      isAlwaysStatus500 &&= error instanceof FetchError && error.status === 500
      node.backOff(reason)
      // The caller has the rules of before the fork, and more attempts would not change them. One is repeated, because a
      // single answer may be wrong.
      if (error instanceof UnscheduledForkError) unscheduled += 1
      if (unscheduled > nodes.length) break
      // Another attempt would find the same chain.
      if (error instanceof OtherChainError && nodes.every((other) => other.backoffRemainingMs() > 0)) break
    }
  }
  if (!failure) throw new BeaconError(`${network}: no beacon node is configured`)
  throw isAlwaysStatus500 ? new ServerStatusError(failure.message) : failure
}
