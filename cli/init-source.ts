// Finds out what a URL provides: the chain of a node, the name of a beacon node's network, the kind of a rate document, and
// where the list is in a page of markets. If the source does not respond, the usual case is assumed, except for the name
// of a network; the check that follows reports it.

import { isNetworkName, type Network } from '#api/contract/wire/networks.ts'
import { knownChains, nameOfChain } from '#core/known-chains.ts'
import { complete } from '#core/schema-check.ts'
import { findDocumentPaths } from '#fx/rates/find-document-paths.ts'
import { type Settings, SettingsSchema } from '#runtime/settings.ts'
import { chainNames } from '#shared/chain-names.ts'
import { fetchJson } from '#sources/http-client.ts'
import type { FoundSources, SourceKind } from './init-file.ts'

const limits = { timeoutMs: 10_000, bytesMax: 64 * 1_048_576 }
/** The id that Hardhat and Anvil use by default. */
const testChain = '31337'
/** What a source reports. A beacon node may not have a name for its network. */
export type ReportedSource = {
  readonly [Kind in Exclude<SourceKind, 'beacon'>]: NonNullable<FoundSources[Kind]>
} & { readonly beacon: ReportedBeacon }

export interface ReportedBeacon {
  readonly url: string
  readonly network: Network | undefined
  /** Why it has no name. */
  readonly reason: string
  /** It did not return its genesis. */
  readonly isSilent?: true
}

const finders: { readonly [Kind in SourceKind]: (url: string, get: Get) => Promise<ReportedSource[Kind]> } = {
  rpc: async (url, get) => {
    const reply = await get(url, { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
    const id = String(Number(reply?.result ?? 1))
    return { url, id, name: (id === testChain ? 'Local test chain' : chainNames[id]?.[0]) ?? `Chain ${id}` }
  },
  rates: async (url, get) =>
    /\.xml$|eurofxref/.test(url)
      ? { url, kind: 'ecb' }
      : { url, kind: 'http-json', found: findDocumentPaths(await get(url), url) },
  beacon: async (url, get) => {
    const base = url.replace(/\/$/, '')
    const [genesis, spec] = await Promise.all([get(`${base}/eth/v1/beacon/genesis`), get(`${base}/eth/v1/config/spec`)])
    return { url, ...nameNetwork(genesis?.data, spec?.data) }
  },
  markets: async (url, get) => {
    const page = (await get(url)) ?? []
    const list = Array.isArray(page) ? undefined : Object.keys(page).find((name) => Array.isArray(page[name]))
    return { url, list: list ?? '' }
  },
}

/** The name of a known chain, otherwise the one that the node has for its configuration. */
function nameNetwork(genesis: unknown, spec: unknown): Omit<ReportedBeacon, 'url'> {
  if (!genesis) return { network: undefined, reason: 'the node did not return its genesis', isSilent: true }
  const { genesis_time: time, genesis_validators_root: root } = genesis as Readonly<Record<string, unknown>>
  const known = nameOfChain({ genesisUnix: Number(time), genesisRoot: String(root) })
  if (known !== undefined) return { network: known, reason: '' }
  const { CONFIG_NAME: given } = (spec ?? {}) as { readonly CONFIG_NAME?: unknown }
  const name = String(given ?? '').toLowerCase()
  if (name === '') return { network: undefined, reason: 'config/spec of the node has no CONFIG_NAME' }
  if (!isNetworkName(name)) return { network: undefined, reason: `its CONFIG_NAME, ${name}, cannot be a name` }
  // A private chain is often made from the configuration of mainnet.
  if (Object.hasOwn(knownChains, name))
    return { network: undefined, reason: `its CONFIG_NAME is ${name}, but its genesis is another one` }
  return { network: name, reason: '' }
}

type Get = (url: string, body?: object) => Promise<Readonly<Record<string, unknown>> | undefined>

export function findSource<Kind extends SourceKind>(
  kind: Kind,
  url: string,
  offline: boolean,
): Promise<ReportedSource[Kind]> {
  const get: Get = async (address, body) => {
    if (offline) return undefined
    const post = body && {
      method: 'POST' as const,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }
    const reply = await fetchJson(address, { ...limits, ...post }).catch(() => undefined)
    return typeof reply === 'object' && reply !== null ? (reply as Record<string, unknown>) : undefined
  }
  return finders[kind](url, get)
}

/** The settings that `configText` writes for these sources. */
export function settingsOf({ rpc, rates, beacon, markets }: FoundSources): Settings {
  const { value, problems } = complete(SettingsSchema, {
    explorer: { chains: rpc ? [{ id: rpc.id, name: rpc.name, rpc: [{ url: rpc.url }] }] : [] },
    ...(rates && { fx: { sources: [{ id: 'main', kind: rates.kind, url: rates.url, ...rates.found }] } }),
    ...(beacon && { validators: { networks: { [beacon.network]: { beacon: { urls: [beacon.url] } } } } }),
    ...(markets && { markets: { feeds: [{ id: 'main', url: markets.url, list: markets.list }] } }),
  })
  if (problems.length > 0) throw new Error(`invalid settings: ${JSON.stringify(problems)}`)
  return value
}
