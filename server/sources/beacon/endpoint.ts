// One node of the Beacon API: requests, limits and backoff. client.ts combines several.

import type { Clock } from '#runtime/clock.ts'
import { FetchError, type FetchedBytes, type FetchOptions, fetchBytes } from '../http-client.ts'
import { type ConsensusRules, readRules } from './consensus.ts'
import { figureOf, hexOf, InvalidResponseError, readFields } from './json.ts'

export interface BeaconOptions {
  readonly network: string
  readonly urls: readonly string[]
  readonly timeoutMs: number
  readonly clock: Clock
  /** What is known of the chain that all nodes must be on. */
  readonly identity?: Partial<ChainIdentity> | undefined
  /** Wait after the first failure of a node; it doubles with each further one. */
  readonly backoffMs?: number
}

/** Two nodes are on the same chain if all of these are equal. */
export interface ChainIdentity {
  readonly genesisUnix: number
  readonly genesisRoot: string
  readonly slotSeconds: number
  readonly slotsPerEpoch: number
  /** Undefined: the node does not report it. */
  readonly executionChainId?: string | undefined
}

export interface Chain {
  readonly identity: ChainIdentity
  readonly rules: ConsensusRules
  /** The response of `config/spec`. */
  readonly spec: Readonly<Record<string, unknown>>
  /** The deposit contract and the id of its execution chain, if the node reports them. */
  readonly deposits?: { readonly contract: string; readonly chainId: string } | undefined
}

export type Accept = 'json' | 'ssz' | 'either'

export type BeaconReply =
  | { readonly is: 'json'; readonly body: unknown; readonly version: string | undefined }
  | { readonly is: 'ssz'; readonly bytes: Uint8Array; readonly version: string | undefined }

export interface BeaconRequest {
  readonly path: string
  readonly accept?: Accept
  /** Sent as JSON with POST. */
  readonly body?: unknown
  readonly bytesMax?: number
  /** The caller does not keep the bytes: the next such response of the node overwrites them. */
  readonly reusesBuffer?: true
}

const bytesMaxDefault = 64 * 1024 * 1024
const backoffMaxMs = 15_000
const distrustMs = 600_000
const accepts: Record<Accept, string> = {
  json: 'application/json',
  ssz: 'application/octet-stream',
  either: 'application/octet-stream;q=1.0,application/json;q=0.9',
}
/** A node returns these statuses if it does not have the data, or not in this format. */
const notFoundStatuses = new Set([400, 404, 405, 406, 415, 501])
/** Lodestar returns status 500 for states that it does not keep, and for rewards that need them. */
const notKeptText = /Historical state regen is not enabled|state is unavailable/i

export class BeaconEndpoint {
  readonly name: string
  readonly #url: string
  /** Some providers expect their key here. */
  readonly #query: string | undefined
  readonly #options: BeaconOptions
  #failures = 0
  #backoffUntilMs = 0
  #chain: Chain | undefined
  /** The text of answers that came twice, by path. */
  readonly #confirmed = new Map<string, string>()
  /** Buffer of the last response with `reusesBuffer`. */
  #buffer: Uint8Array | undefined
  /** As it last reported them. */
  lastRules: ConsensusRules | undefined
  lastError: string | undefined
  /** The last answer that the node does not have something. */
  lastNotFound: string | undefined

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

  backOff(reason: string): void {
    const { clock, backoffMs = 250 } = this.#options
    this.#backoffUntilMs = clock.monotonicMs() + Math.min(backoffMs * 2 ** Math.min(this.#failures, 10), backoffMaxMs)
    this.#failures += 1
    this.#chain = undefined
    this.lastError = reason
  }

  distrust(reason: string): void {
    this.backOff(reason)
    this.#backoffUntilMs = this.#options.clock.monotonicMs() + distrustMs
  }

  isDistrusted(): boolean {
    return this.backoffRemainingMs() > backoffMaxMs
  }

  async chain(signal?: AbortSignal): Promise<Chain> {
    if (this.#chain) return this.#chain
    await this.#refuseSyncing(signal)
    const genesis = readFields(await this.#confirmedJson('/eth/v1/beacon/genesis', signal), 'genesis')
    const spec = readFields(await this.#confirmedJson('/eth/v1/config/spec', signal), 'spec')
    const rules = rulesOf(spec)
    this.lastRules = rules
    const deposits = depositsOf(spec)
    const identity = {
      genesisUnix: figureOf(genesis.genesis_time, 'genesis_time'),
      genesisRoot: hexOf(genesis.genesis_validators_root, 'genesis_validators_root', 32),
      slotSeconds: rules.slotSeconds,
      slotsPerEpoch: rules.slotsPerEpoch,
      ...(deposits && { executionChainId: deposits.chainId }),
    }
    this.#chain = { identity, rules, spec, deposits }
    return this.#chain
  }

  async request<T>(
    request: BeaconRequest,
    read: (reply: BeaconReply) => T,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    let buffer: Uint8Array | undefined
    const allocate = (bytes: number): Uint8Array => {
      buffer = this.#takeBuffer(bytes)
      return buffer
    }
    const reply = await this.#fetch(request, signal, request.reusesBuffer ? allocate : undefined)
    refuseOptimistic(reply)
    const value = reply && read(reply)
    this.#buffer ??= buffer
    this.#failures = 0
    this.lastError = undefined
    return value
  }

  /** While a node is syncing, its finality is old and it may lack states. Not every provider offers this endpoint. */
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

  /**
   * The rules of the chain are stored and used for everything else, and nothing else verifies them. So an answer must
   * come twice, unless it is the same as before.
   */
  async #confirmedJson(path: string, signal?: AbortSignal): Promise<unknown> {
    const answer = await this.#json(path, signal)
    const text = JSON.stringify(answer)
    if (text === this.#confirmed.get(path)) return answer
    if (text !== JSON.stringify(await this.#json(path, signal)))
      throw new InvalidResponseError(`${path} returned two different answers`)
    this.#confirmed.set(path, text)
    return answer
  }

  async #json(path: string, signal?: AbortSignal): Promise<unknown> {
    const reply = await this.#fetch({ path, accept: 'json' }, signal)
    if (reply?.is !== 'json') throw new InvalidResponseError(`${path} returned no JSON`)
    return dataOf(reply.body)
  }

  #addressOf(path: string): string {
    if (!this.#query) return this.#url + path
    return `${this.#url}${path}${path.includes('?') ? '&' : '?'}${this.#query}`
  }

  /** Returns at least this many bytes. Concurrent requests get other buffers. */
  #takeBuffer(bytes: number): Uint8Array {
    const buffer = this.#buffer
    this.#buffer = undefined
    return buffer && buffer.length >= bytes ? buffer : Buffer.allocUnsafeSlow(Math.ceil(bytes * 1.02))
  }

  async #fetch(
    { path, accept = 'json', body, bytesMax = bytesMaxDefault }: BeaconRequest,
    signal?: AbortSignal,
    allocate?: FetchOptions['allocate'],
  ): Promise<BeaconReply | undefined> {
    const options: FetchOptions = {
      timeoutMs: this.#options.timeoutMs,
      bytesMax,
      label: `${this.name}${path}`,
      keepsErrorText: true,
      headers: { accept: accepts[accept], ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { method: 'POST', isQuery: true, body: JSON.stringify(body) }),
      ...(signal && { signal }),
      ...(allocate && { allocate }),
    }
    try {
      return toReply(await fetchBytes(this.#addressOf(path), options), accept)
    } catch (error) {
      if (!(error instanceof FetchError && isNotFound(error))) throw error
      this.lastNotFound = describeNotFound(error)
      return undefined
    }
  }
}

const notFoundTextMax = 120

/** Error bodies are JSON with `message`, or text. */
function describeNotFound({ status, text = '' }: FetchError): string {
  const message = /"message"\s*:\s*"([^"]+)"/.exec(text)?.[1] ?? text
  const short = message.replace(/\s+/g, ' ').trim().slice(0, notFoundTextMax)
  return short === '' ? `status ${status}` : `status ${status}: ${short}`
}

const isNotFound = ({ failure, status = 0, text = '' }: FetchError): boolean =>
  failure === 'status' && (notFoundStatuses.has(status) || (status === 500 && notKeptText.test(text)))

interface SyncingBody {
  readonly data?: { readonly is_syncing?: unknown; readonly sync_distance?: unknown }
}

function refuseOptimistic(reply: BeaconReply | undefined): void {
  if (reply?.is !== 'json') return
  const { execution_optimistic } = (reply.body ?? {}) as { readonly execution_optimistic?: unknown }
  if (execution_optimistic === true)
    throw new InvalidResponseError('it has not verified the execution payloads of its response (execution_optimistic)')
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
  if (accept === 'ssz') throw new InvalidResponseError('the response is not SSZ')
  try {
    return { is: 'json', body: JSON.parse(new TextDecoder().decode(reply.bytes)), version }
  } catch {
    throw new InvalidResponseError('the response is not JSON')
  }
}

export const dataOf = (body: unknown): unknown => readFields(body, 'the response').data
