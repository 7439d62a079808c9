// The Beacon API over HTTP: several nodes of one network, best first, as one source.
//
// 1. "There is none" (404) is an answer, not a failure; it is believed when no other node that is well has one.
// 2. A node that fails rests, longer each time, and is then tried again. The number of attempts per question is limited.
// 3. A node is used only while it names the genesis and the slots of the network it stands for; after a failure it is asked again.
// 4. Every answer has a time limit and a size limit.

import type { Clock } from '#runtime/clock.ts'
import { cleanUrl, cleanUrls, FetchError, type FetchedBytes, type FetchOptions, fetchBytes } from '../http-client.ts'
import { type ConsensusRules, readRules } from './consensus.ts'
import { figureOf, InvalidResponseError, readFields } from './json.ts'
import { SszError } from './ssz.ts'

export interface BeaconOptions {
  readonly network: string
  readonly urls: readonly string[]
  readonly timeoutMs: number
  readonly clock: Clock
  /** What all nodes must agree on, when it is known already. */
  readonly identity?: ChainIdentity | undefined
  /** First rest of a node that failed; it doubles. */
  readonly backoffMs?: number
}

/** What makes a chain this chain. */
export interface ChainIdentity {
  readonly genesisUnix: number
  readonly genesisRoot: string
  readonly slotSeconds: number
  readonly slotsPerEpoch: number
}

export interface Chain {
  readonly identity: ChainIdentity
  readonly rules: ConsensusRules
  /** On the execution side: the contract that takes deposits, and the id of its chain, where the node names them. */
  readonly deposits?: { readonly contract: string; readonly chainId: string } | undefined
}

export type Accept = 'json' | 'ssz' | 'either'

export type BeaconReply =
  | { readonly is: 'json'; readonly body: unknown; readonly version: string | undefined }
  | { readonly is: 'ssz'; readonly bytes: Uint8Array; readonly version: string | undefined }

export interface BeaconRequest {
  readonly path: string
  readonly accept?: Accept
  /** Posted as JSON. */
  readonly body?: unknown
  readonly bytesMax?: number
  /** The bytes are looked at while the answer is read and never again: the next such answer of the node lies in their place. */
  readonly reusesBuffer?: true
}

export interface Beacon {
  /** Genesis and rules, asked once. */
  chain(signal?: AbortSignal): Promise<Chain>
  /** What `read` makes of the answer; undefined: there is none. An answer that `read` refuses counts as a failure of the node. */
  request<T>(question: BeaconRequest, read: (reply: BeaconReply) => T, signal?: AbortSignal): Promise<T | undefined>
  /** Each node by itself, in the order of the settings. */
  each(): readonly SingleBeacon[]
  /** What is wrong with each node, in words; undefined: it is well. */
  health(): readonly { readonly name: string; readonly trouble: string | undefined }[]
}

/** One node of several. */
export interface SingleBeacon {
  readonly name: string
  readonly beacon: Beacon
  /** Its answers contradicted each other: others are asked first for a while. */
  distrust(reason: string): void
  isDistrusted(): boolean
}

/** No node gave a usable answer; the last one's words. Worth trying again later. */
export class BeaconError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BeaconError'
  }
}

/** Answers of a node contradict each other, or the rules of the chain. Nothing is stored of the epoch. */
export class ContradictionError extends BeaconError {
  /** What differs, with everything that could differ otherwise: equal when two nodes answer alike. Undefined: not to be settled so. */
  readonly remainder: string | undefined

  constructor(message: string, remainder?: string) {
    super(message)
    this.name = 'ContradictionError'
    this.remainder = remainder
  }
}

const bytesMaxDefault = 64 * 1024 * 1024
const attemptsPerNode = 3
const attemptsMin = 5
const backoffMaxMs = 15_000
const distrustMs = 600_000
const accepts: Record<Accept, string> = {
  json: 'application/json',
  ssz: 'application/octet-stream',
  either: 'application/octet-stream;q=1.0,application/json;q=0.9',
}
/** Statuses by which a node says that it does not have something, or not in this form. */
const absent = new Set([400, 404, 405, 406, 415, 501])

class BeaconEndpoint {
  readonly name: string
  readonly #url: string
  /** Some providers take their key here. */
  readonly #query: string | undefined
  readonly #options: BeaconOptions
  #failures = 0
  #backoffUntilMs = 0
  #chain: Chain | undefined
  /** Where the last passing answer lay. */
  #buffer: Uint8Array | undefined
  trouble: string | undefined

  constructor(url: string, name: string, options: BeaconOptions) {
    this.name = name
    const [address = '', query] = url.split('?', 2)
    this.#url = address.replace(/\/+$/, '')
    this.#query = query
    this.#options = options
  }

  backoffRemainingMs(): number {
    return Math.max(0, this.#backoffUntilMs - this.#options.clock.monotonicMs())
  }

  backOff(why: string): void {
    const { clock, backoffMs: restMs = 250 } = this.#options
    this.#backoffUntilMs = clock.monotonicMs() + Math.min(restMs * 2 ** Math.min(this.#failures, 10), backoffMaxMs)
    this.#failures += 1
    this.#chain = undefined
    this.trouble = why
  }

  distrust(why: string): void {
    this.backOff(why)
    this.#backoffUntilMs = this.#options.clock.monotonicMs() + distrustMs
  }

  async chain(expected: ChainIdentity | undefined, signal?: AbortSignal): Promise<Chain> {
    if (this.#chain) return this.#chain
    await this.#refuseSyncing(signal)
    const genesis = readFields(await this.#json('/eth/v1/beacon/genesis', signal), 'genesis')
    const spec = readFields(await this.#json('/eth/v1/config/spec', signal), 'spec')
    const rules = rulesOf(spec)
    const identity = {
      genesisUnix: figureOf(genesis.genesis_time, 'genesis_time'),
      genesisRoot: String(genesis.genesis_validators_root),
      slotSeconds: rules.slotSeconds,
      slotsPerEpoch: rules.slotsPerEpoch,
    }
    const odd =
      expected && (Object.keys(identity) as (keyof ChainIdentity)[]).find((key) => identity[key] !== expected[key])
    if (odd) {
      throw new InvalidResponseError(
        `it is on another chain: ${odd} is ${identity[odd]}, not ${expected?.[odd]}; correct validators.networks`,
      )
    }
    this.#chain = { identity, rules, deposits: depositsOf(spec) }
    return this.#chain
  }

  async request<T>(
    question: BeaconRequest,
    read: (reply: BeaconReply) => T,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    let lent: Uint8Array | undefined
    const room = (bytes: number): Uint8Array => {
      lent = this.#takeBuffer(bytes)
      return lent
    }
    const reply = await this.#fetch(question, signal, question.reusesBuffer ? room : undefined)
    refuseOptimistic(reply)
    const value = reply && read(reply)
    this.#buffer ??= lent
    this.#failures = 0
    this.trouble = undefined
    return value
  }

  /** Until a node has caught up, its finality is old and its states may be missing. Not every provider answers this. */
  async #refuseSyncing(signal?: AbortSignal): Promise<void> {
    const reply = await this.#fetch({ path: '/eth/v1/node/syncing' }, signal).catch((error: unknown) => {
      if (error instanceof InvalidResponseError || (error instanceof FetchError && error.failure === 'status'))
        return undefined
      throw error
    })
    const body = (reply?.is === 'json' ? reply.body : undefined) as SyncingBody | undefined
    if (body?.data?.is_syncing === true)
      throw new InvalidResponseError(`it is still syncing, ${body.data.sync_distance} slots behind`)
  }

  async #json(path: string, signal?: AbortSignal): Promise<unknown> {
    const reply = await this.#fetch({ path, accept: 'json' }, signal)
    if (reply?.is !== 'json') throw new InvalidResponseError(`${path} is not answered`)
    return dataOf(reply.body)
  }

  #addressOf(path: string): string {
    if (!this.#query) return this.#url + path
    return `${this.#url}${path}${path.includes('?') ? '&' : '?'}${this.#query}`
  }

  /** At least this long. Nobody else gets it until it is given back. */
  #takeBuffer(bytes: number): Uint8Array {
    const room = this.#buffer
    this.#buffer = undefined
    return room && room.length >= bytes ? room : Buffer.allocUnsafeSlow(Math.ceil(bytes * 1.02))
  }

  async #fetch(
    { path, accept = 'json', body, bytesMax = bytesMaxDefault }: BeaconRequest,
    signal?: AbortSignal,
    room?: FetchOptions['allocate'],
  ): Promise<BeaconReply | undefined> {
    const options: FetchOptions = {
      timeoutMs: this.#options.timeoutMs,
      bytesMax,
      label: `${this.name}${path}`,
      headers: { accept: accepts[accept], ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      ...(signal && { signal }),
      ...(room && { allocate: room }),
    }
    try {
      return toReply(await fetchBytes(this.#addressOf(path), options), accept)
    } catch (error) {
      if (error instanceof FetchError && error.failure === 'status' && absent.has(error.status ?? 0)) return undefined
      throw error
    }
  }
}

interface SyncingBody {
  readonly data?: { readonly is_syncing?: unknown; readonly sync_distance?: unknown }
}

function refuseOptimistic(reply: BeaconReply | undefined): void {
  if (reply?.is !== 'json') return
  const { execution_optimistic } = (reply.body ?? {}) as { readonly execution_optimistic?: unknown }
  if (execution_optimistic === true)
    throw new InvalidResponseError('it has not verified the execution payloads it answers about (execution_optimistic)')
}

function rulesOf(spec: Readonly<Record<string, unknown>>): ConsensusRules {
  try {
    return readRules(spec)
  } catch (error) {
    throw new InvalidResponseError(`config/spec: ${(error as Error).message}`)
  }
}

function depositsOf(spec: Readonly<Record<string, unknown>>): Chain['deposits'] {
  const [contract, chainId] = [String(spec.DEPOSIT_CONTRACT_ADDRESS), String(spec.DEPOSIT_CHAIN_ID)]
  return /^0x[0-9a-f]{40}$/i.test(contract) && /^\d{1,19}$/.test(chainId) ? { contract, chainId } : undefined
}

function toReply(reply: FetchedBytes, accept: Accept): BeaconReply {
  const version = reply.header('eth-consensus-version')?.toLowerCase()
  const isSsz = reply.header('content-type')?.startsWith('application/octet-stream') === true
  if (isSsz && accept !== 'json') return { is: 'ssz', bytes: reply.bytes, version }
  if (accept === 'ssz') throw new InvalidResponseError('the answer is not SSZ')
  try {
    return { is: 'json', body: JSON.parse(new TextDecoder().decode(reply.bytes)), version }
  } catch {
    throw new InvalidResponseError('the answer is not JSON')
  }
}

export const dataOf = (body: unknown): unknown => readFields(body, 'the answer').data

export function openBeacon(options: BeaconOptions): Beacon {
  const names = cleanUrls(options.urls)
  const all = options.urls.map((url, at) => new BeaconEndpoint(url, names[at] ?? cleanUrl(url), options))
  let known: Chain | undefined
  const expected = () => known?.identity ?? options.identity
  const viewOf = (nodes: readonly BeaconEndpoint[]): Beacon => {
    const tried = <T>(work: (node: BeaconEndpoint) => Promise<T>, signal?: AbortSignal) =>
      tryNodesInOrder(nodes, options, work, signal)
    return {
      async chain(signal) {
        known ??= await tried((node) => node.chain(expected(), signal), signal)
        return known
      },
      request: (question, read, signal) =>
        tried(async (node) => {
          known ??= await node.chain(expected(), signal)
          await node.chain(expected(), signal)
          const value = await node.request(question, read, signal)
          if (value !== undefined) return value
          return askOtherNodes(nodes, node, async (other) => {
            await other.chain(expected(), signal)
            return other.request(question, read, signal)
          })
        }, signal),
      each: () =>
        nodes.map((node) => ({
          name: node.name,
          beacon: viewOf([node]),
          distrust: (reason) => node.distrust(reason),
          isDistrusted: () => node.backoffRemainingMs() > backoffMaxMs,
        })),
      health: () => nodes.map(({ name, trouble }) => ({ name, trouble })),
    }
  }
  return viewOf(all)
}

/** Asks the other nodes that are well, each once; what they fail at is theirs. */
async function askOtherNodes<T>(
  nodes: readonly BeaconEndpoint[],
  except: BeaconEndpoint,
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
  error instanceof SszError

const describeNodeError = (error: Error, node: BeaconEndpoint): string =>
  error instanceof FetchError ? error.message : `${node.name}: ${error.message}`

async function tryNodesInOrder<T>(
  nodes: readonly BeaconEndpoint[],
  { clock, network }: BeaconOptions,
  work: (node: BeaconEndpoint) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  let reason = 'no node is configured'
  const attemptsMax = Math.max(attemptsMin, nodes.length * attemptsPerNode)
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const node =
      nodes.find((one) => one.backoffRemainingMs() === 0) ??
      [...nodes].sort((a, b) => a.backoffRemainingMs() - b.backoffRemainingMs())[0]
    if (!node) break
    if (node.backoffRemainingMs() > 0) await clock.sleep(Math.ceil(node.backoffRemainingMs()), signal)
    signal?.throwIfAborted()
    try {
      return await work(node)
    } catch (error) {
      signal?.throwIfAborted()
      if (!isNodeError(error)) throw error
      reason = describeNodeError(error, node)
      node.backOff(reason)
    }
  }
  throw new BeaconError(`${network}: ${reason}`)
}
